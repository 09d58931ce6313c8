"""What the benchmarks share; the programs are the files one folder up."""
