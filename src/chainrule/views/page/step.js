// The step-through: forward pass, then backward pass, node by node.
// root: the element that holds the component's markup; data: what stepping.py gathered.
function chainruleSteps(root, data) {
  "use strict";
  const find = (selector) => root.querySelector(selector);
  const parts = data.parts.map((part) => ({
    ...part,
    value: Number(part.value),
    gradient: Number(part.gradient),
    more: Number(part.more),
    edges: part.edges.map((edge) => ({ ...edge, local: Number(edge.local), product: Number(edge.product) })),
  }));
  const uses = parts.map(() => []);
  parts.forEach((part, i) => part.edges.forEach((edge) => uses[edge.operand].push({ from: i, edge })));
  const boxes = parts.map((_, i) => find(`[data-box="${i}"]`));
  const links = data.links.map((_, i) => find(`[data-link="${i}"]`));
  const view = find(".view");
  const svg = find(".view svg");

  // A step is a pass and the part it is about; the first and the last have no part.
  const computed = parts.flatMap((part, i) => (part.opened ? [i] : []));
  const passing = computed.filter((i) => parts[i].reached && parts[i].edges.length).reverse();
  const steps = [
    { pass: "start" },
    ...computed.map((part) => ({ pass: "forward", part })),
    { pass: "seed", part: data.result },
    ...passing.map((part) => ({ pass: "backward", part })),
    { pass: "end" },
  ];
  let now = 0;
  let chosen = null;
  let timer = null;

  const text = (x, digits = 6) => {
    if (Number.isNaN(x)) return "nan";
    if (!Number.isFinite(x)) return x > 0 ? "inf" : "−inf";
    return String(Number(x.toPrecision(digits)) + 0).replace(/-/g, "−").replace("e+", "e");
  };
  const brief = (x) => text(x, data.digits);
  const inProduct = (x) => (text(x).startsWith("−") ? `(${text(x)})` : text(x));

  // Builds an element; whatever is a string becomes text, never markup.
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  // A formula: MathML that Python wrote from the table's own LaTeX, and the LaTeX beside it.
  const formula = (math) => {
    const shown = make("div", { class: "formula" });
    shown.innerHTML = math.mathml;
    return shown;
  };
  const table = (heads, rows) =>
    make(
      "div",
      { class: "scroll" },
      make(
        "table",
        {},
        make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
        make("tbody", {}, ...rows),
      ),
    );
  const cell = (content, kind = "number") => make("td", { class: kind }, content);

  // What has been received up to a step: for each part the contributions, in order.
  const received = (upTo) => {
    const got = parts.map(() => []);
    for (const step of steps.slice(0, upTo + 1)) {
      if (step.pass === "seed") got[data.result].push({ from: null, amount: 1 });
      if (step.pass === "backward")
        for (const edge of parts[step.part].edges)
          got[edge.operand].push({ from: step.part, amount: edge.product });
    }
    return got;
  };
  const isDone = (i, got) => i === data.result || got[i].length >= uses[i].length;
  const sum = (i, got) => {
    if (isDone(i, got)) return parts[i].gradient;
    return got[i].reduce((total, x) => total + x.amount, 0);
  };

  function show() {
    const step = steps[now];
    const seed = steps.findIndex((x) => x.pass === "seed");
    const back = now >= seed;
    const got = received(now);
    root.classList.toggle("back", back);
    const operands = new Set(step.part === undefined ? [] : parts[step.part].inputs);
    const active = step.pass === "forward" || step.pass === "backward";
    parts.forEach((part, i) => {
      const known = !part.opened || back || computed.indexOf(i) < now;
      const box = boxes[i];
      box.classList.toggle("ahead", !known);
      box.classList.toggle("current", step.part === i);
      box.classList.toggle("receiving", step.pass === "backward" && parts[step.part].edges.some((e) => e.operand === i));
      box.classList.toggle("chosen", chosen === i);
      const value = known ? brief(part.value) : "";
      let gradient = "";
      if (back && got[i].length) gradient = brief(sum(i, got)) + (isDone(i, got) ? "" : " …");
      else if (steps[now].pass === "end") gradient = part.reached ? brief(part.gradient) : "none";
      box.querySelector(".number.data").textContent = value;
      box.querySelector(".number.grad").textContent = gradient;
      box.dataset.value = known ? part.value : "";
      box.dataset.grad = gradient === "" ? "" : sum(i, got);
      box.setAttribute(
        "aria-label",
        `${part.label}${part.op ? ", " + part.op : ", given"}: ` +
          `${known ? "data " + value : "not computed yet"}, ` +
          `${gradient ? "gradient " + gradient : "no gradient yet"}. Press Enter for its paths.`,
      );
    });
    const onPath = new Set(chosen === null ? [] : ways(chosen).edges);
    svg.querySelectorAll(".flow").forEach((x) => x.remove());
    data.links.forEach(([source, target], i) => {
      const on = active && target === step.part && operands.has(source);
      links[i].classList.toggle("active", on);
      links[i].classList.toggle("path", onPath.has(`${target}-${source}`));
      if (on && step.pass === "backward") flow(i, source, parts[step.part]);
    });
    find(".range").value = now;
    find(".range").setAttribute("aria-valuetext", headline(step, seed));
    find(".first").disabled = find(".previous").disabled = now === 0;
    find(".next").disabled = find(".last").disabled = now === steps.length - 1;
    find(".phase").textContent = back ? "Backward pass" : "Forward pass";
    find(".count").textContent = `: step ${now} of ${steps.length - 1}`;
    find(".now").replaceChildren(...card(step, got));
    find(".paths").replaceChildren(...paths());
    if (step.part !== undefined) reveal(boxes[step.part]);
    root.dataset.step = now;
  }

  function headline(step, seed) {
    if (step.pass === "start") return "Before the forward pass";
    if (step.pass === "end") return "All gradients are known";
    const pass = now < seed ? "Forward pass" : "Backward pass";
    return `${pass}, ${parts[step.part].label}`;
  }

  // The contribution, written at the arrow it flows back along.
  function flow(i, source, part) {
    const amounts = part.edges.filter((edge) => edge.operand === source).map((edge) => brief(edge.product));
    if (!amounts.length) return;
    const path = links[i].querySelector("path");
    const middle = path.getPointAtLength(path.getTotalLength() / 2);
    const label = document.createElementNS("http://www.w3.org/2000/svg", "text");
    label.setAttribute("class", "flow");
    label.setAttribute("x", middle.x);
    label.setAttribute("y", middle.y - 6);
    label.setAttribute("text-anchor", "middle");
    label.textContent = `← ${amounts.join(", ")}`;
    svg.append(label);
  }

  // Scrolls the graph, never the page.
  function reveal(box) {
    const inner = box.getBoundingClientRect();
    const outer = view.getBoundingClientRect();
    const room = outer.width * 0.2;
    if (inner.left < outer.left + room || inner.right > outer.right - room)
      view.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  }

  function card(step, got) {
    if (step.pass === "start")
      return [
        make("h2", {}, "Given"),
        make("p", {}, "These numbers are given. The forward pass computes every other value from its operands, step by step."),
        table(
          ["name", "value"],
          parts.flatMap((part) =>
            part.opened ? [] : [make("tr", {}, cell(part.label, ""), cell(text(part.value)))],
          ),
        ),
      ];
    if (step.pass === "end") {
      return [
        make("h2", {}, "All gradients are known"),
        make("p", {}, `The derivative of ${parts[data.result].label} by everything that was given. Choose a box to see the paths that add up to its gradient.`),
        table(
          ["name", "value", "gradient"],
          parts.flatMap((part) =>
            part.opened
              ? []
              : [make("tr", {}, cell(part.label, ""), cell(text(part.value)), cell(part.reached ? text(part.gradient) : "none", "number product"))],
          ),
        ),
      ];
    }
    const part = parts[step.part];
    if (step.pass === "forward")
      return [make("h2", {}, `${part.label} is computed`), formula(part.math), latex([part.math])];
    if (step.pass === "seed")
      return [
        make("h2", {}, `The backward pass starts at ${part.label}`),
        make("p", { class: "rule" }, "The derivative of the result by itself is 1."),
        formula(data.seed),
        make("p", {}, "From here back, each value passes on to each operand: upstream gradient times local derivative."),
        latex([data.seed]),
      ];
    const rows = part.edges.map((edge) =>
      make(
        "tr",
        {},
        cell(parts[edge.operand].label, "way"),
        cell(text(part.gradient)),
        cell(`× ${inProduct(edge.local)}`),
        cell(`= ${text(edge.product)}`, "number product"),
      ),
    );
    const shown = [
      make("h2", {}, `${part.label} passes its gradient on`),
      make("p", { class: "rule" }, `${part.says[0].toUpperCase()}${part.says.slice(1)}.`),
      table(["to", "upstream", "× local", "= contribution"], rows),
    ];
    for (const edge of part.edges) shown.push(formula(edge.math));
    for (const name of part.blocked) shown.push(make("p", {}, `To ${name}: no gradient passes.`));
    if (part.edges_more) shown.push(make("p", { class: "dim" }, `${part.edges_more} more operands are left out of this page.`));
    for (const i of new Set(part.edges.map((edge) => edge.operand)))
      if (uses[i].length + (parts[i].more_count ? 1 : 0) > 1) shown.push(...running(i, got));
    shown.push(latex(part.edges.map((edge) => edge.math)));
    return shown;
  }

  // The sum of a part with several uses, as far as it goes.
  function running(i, got) {
    const part = parts[i];
    const terms = got[i].map((x) => `${inProduct(x.amount)} from ${parts[x.from].label}`);
    const waiting = uses[i].length - got[i].length;
    const rest = waiting ? `; ${waiting} of its ${uses[i].length} uses still to come` : "";
    const left = part.more_count ? `, and ${inProduct(part.more)} from ${part.more_count} uses left out of this page` : "";
    return [
      make("h3", {}, `Running sum of ${part.label}`),
      make("p", { class: "running" }, `${terms.join(" + ")}${waiting ? "" : left} = ${text(sum(i, got))}${rest}`),
    ];
  }

  function latex(maths) {
    const code = maths.map((math) => make("p", {}, make("code", {}, math.latex)));
    return make("details", {}, make("summary", {}, "LaTeX"), ...code);
  }

  // All ways from the result to a part: how many there are, and the first of them.
  function ways(end) {
    const counts = new Array(parts.length).fill(0n);
    counts[end] = 1n;
    // parts stand operands before results, but for those that were given, which pass nothing on
    for (const i of computed) if (i !== end) for (const edge of parts[i].edges) counts[i] += counts[edge.operand];
    const found = [];
    const edges = new Set();
    const stack = [{ at: data.result, names: [data.result], locals: [], product: 1 }];
    if (counts[data.result])
      while (stack.length && found.length < data.most_paths) {
        const { at, names, locals, product } = stack.pop();
        if (at === end) {
          found.push({ names, locals, product });
          continue;
        }
        for (const edge of [...parts[at].edges].reverse())
          if (counts[edge.operand])
            stack.push({
              at: edge.operand,
              names: [...names, edge.operand],
              locals: [...locals, edge.local],
              product: product * edge.local,
            });
      }
    for (const i of computed)
      if (counts[i] && i !== end)
        for (const edge of parts[i].edges) if (counts[edge.operand]) edges.add(`${i}-${edge.operand}`);
    return { total: counts[data.result], found, edges };
  }

  function paths() {
    if (chosen === null)
      return [
        make("h2", {}, "Paths"),
        make("p", { class: "dim" }, "Choose a box of the graph to see every path from the result to it. The products of the local derivatives along the paths add up to its gradient."),
      ];
    const part = parts[chosen];
    const result = parts[data.result].label;
    const heading = make("h2", {}, `Paths from ${result} to ${part.label}`);
    const close = make("button", { type: "button", class: "close" }, "Close");
    close.addEventListener("click", () => choose(null));
    if (chosen === data.result)
      return [heading, make("p", {}, "It is the result itself: its gradient is 1."), close];
    if (!part.reached) return [heading, make("p", {}, "No gradient comes here: no path leads to it."), close];
    const { total, found } = ways(chosen);
    const rows = found.map((way) =>
      make(
        "tr",
        {},
        cell(way.names.map((i) => parts[i].label).join(" → "), "way"),
        cell(`${way.locals.map(inProduct).join(" × ")} = ${text(way.product)}`, "product way"),
      ),
    );
    const shown = found.reduce((all, way) => all + way.product, 0);
    const all = BigInt(found.length) === total;
    const hidden = data.left_out > 0;
    const count = total === 1n ? "1 path" : `${total.toLocaleString("en")} paths`;
    const said = [make("p", {}, `${count}${hidden ? " through the values on this page" : ""}; along each, the product of the local derivatives:`)];
    if (!all) said.push(make("p", {}, `The first ${found.length} are shown; together they give ${text(shown)}.`));
    if (all && !hidden)
      rows.push(make("tr", { class: "total" }, cell("sum = gradient", "way"), make("td", { class: "number sum", "data-sum": shown, "data-grad": part.gradient }, text(part.gradient))));
    else said.push(make("p", {}, `All paths there are, shown here or not, give its gradient: ${text(part.gradient)}.`));
    return [heading, ...said, table(["path", "product"], rows), close];
  }

  function choose(i) {
    chosen = i === chosen ? null : i;
    show();
  }
  function go(step) {
    now = Math.max(0, Math.min(steps.length - 1, step));
    if (now === steps.length - 1) play(false);
    show();
  }
  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => go(now + 1), 1600) : null;
    find(".play").textContent = on ? "‖ Pause" : "▶ Play";
    find(".play").setAttribute("aria-pressed", String(on));
  }
  function toggle() {
    if (timer === null && now === steps.length - 1) go(0);
    play(timer === null);
  }
  const stop = (step) => {
    play(false);
    go(step);
  };

  find(".range").max = steps.length - 1;
  find(".range").addEventListener("input", (event) => stop(Number(event.target.value)));
  find(".first").addEventListener("click", () => stop(0));
  find(".previous").addEventListener("click", () => stop(now - 1));
  find(".next").addEventListener("click", () => stop(now + 1));
  find(".last").addEventListener("click", () => stop(steps.length - 1));
  find(".play").addEventListener("click", toggle);
  boxes.forEach((box, i) => {
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "button");
    box.addEventListener("click", () => choose(i));
  });
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = event.target.closest ? event.target.closest("[data-box]") : null;
    const onControl = event.target.closest && event.target.closest("button, summary, a");
    const keys = {
      ArrowRight: () => stop(now + 1),
      ArrowLeft: () => stop(now - 1),
      Home: () => stop(0),
      End: () => stop(steps.length - 1),
      Escape: () => choose(null),
    };
    if (box) keys.Enter = keys[" "] = () => choose(Number(box.dataset.box));
    else if (!onControl) keys[" "] = toggle;
    const act = keys[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  };
  // In a page of its own the keys work wherever the focus is; in a notebook only inside.
  const listening = data.whole_page ? document : root;
  listening.addEventListener("keydown", onKey);
  show();
  return () => {
    play(false);
    listening.removeEventListener("keydown", onKey);
  };
}
