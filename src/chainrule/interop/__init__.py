"""Ways in and out: micrograd, PyTorch, ONNX and scikit-learn.

==============================  =======================================================
``chainrule.interop.micrograd``  code written for micrograd, with its import lines changed
``chainrule.interop.torch``      networks to PyTorch and back, and training side by side
``chainrule.interop.onnx``       networks to ONNX files
``chainrule.interop.sklearn``    estimators for scikit-learn
==============================  =======================================================

Each other library is an extra, imported only when it is used.
"""
