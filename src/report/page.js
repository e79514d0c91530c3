"use strict";
(function () {
  document.documentElement.classList.add("js");
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const make = (name, attributes, text) => {
    const e = document.createElement(name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const draw = (name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const bytes = (n) => {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let i = 0;
    for (; i < 4 && n >= 999.5; i++) n /= 1000;
    return (i && n < 99.5 ? n.toPrecision(3) : n.toFixed(0)) + " " + units[i];
  };

  /* Tables: a click on a column sorts by it; long ones show their first rows. */
  const value = (row, i) => {
    const cell = row.cells[i];
    const v = cell.dataset.v;
    if (v !== undefined) return Number(v);
    const bar = cell.querySelector(".bar i");
    return bar ? parseFloat(bar.style.width) : cell.textContent.trim().toLowerCase();
  };
  const sort = (table, i) => {
    const head = table.tHead.rows[0].cells[i];
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    if (!rows.length) return;
    const isNumber = typeof value(rows[0], i) === "number";
    const before = head.getAttribute("aria-sort");
    const order = before ? (before === "ascending" ? -1 : 1) : isNumber ? -1 : 1;
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order > 0 ? "ascending" : "descending");
    rows.sort((a, b) => {
      const x = value(a, i), y = value(b, i);
      return order * (x < y ? -1 : x > y ? 1 : 0);
    });
    rows.forEach((row, k) => {
      row.classList.toggle("more", k >= 24 && table.classList.contains("long"));
      body.appendChild(row);
    });
  };
  for (const table of all("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((cell, i) => {
      cell.addEventListener("click", () => sort(table, i));
    });
    const hidden = all("tr.more", table).length;
    if (!hidden) continue;
    table.classList.add("long", "folded");
    const button = make("button", { type: "button" }, "Show " + hidden + " more");
    button.addEventListener("click", () => {
      const folded = table.classList.toggle("folded");
      button.textContent = folded ? "Show " + hidden + " more" : "Show fewer";
    });
    table.parentNode.after(button);
  }

  /* A link into something that is folded opens it. */
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    const drawing = target.querySelector(":scope > button.draw");
    if (drawing && !target.querySelector(".drawing")) drawing.click();
    if (location.search === "?only") { /* a picture of this alone, as for a document */
      document.body.replaceChildren(target);
      document.body.style.padding = "1rem 1.5rem";
      for (const e of all("pre, button", target)) e.remove();
      for (const e of all(".drawing", target)) e.style.maxHeight = "none";
    }
    target.scrollIntoView();
  };

  /* The timeline tells what is under the pointer. */
  all(".chart").forEach((figure, which) => {
    const device = data.devices[which];
    const svg = figure.querySelector("svg");
    const left = Number(svg.dataset.left), width = Number(svg.dataset.width);
    const height = svg.viewBox.baseVal.height;
    const cursor = draw("line", { class: "cursor", y1: 0, y2: height - 20, visibility: "hidden" });
    const output = make("output", {});
    svg.append(cursor);
    figure.append(output);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width - left;
      const seconds = x / width * data.seconds;
      let i = Math.floor(seconds / data.bucket);
      if (i < 0 || i >= device.memory.length) return;
      const busy = device.busy[i];
      while (i > 0 && device.memory[i] === null) i--;
      cursor.setAttribute("x1", left + x);
      cursor.setAttribute("x2", left + x);
      cursor.setAttribute("visibility", "visible");
      output.textContent = seconds.toPrecision(3) + " s: " + bytes(device.memory[i] || 0) +
        " in use, " + Math.round(100 * Math.min(1, busy)) + "% busy";
    });
    svg.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      output.textContent = "";
    });
  });

  /* Passes: lines that a pass has changed are marked. Names of values are left out of the
   * comparison, since each pass counts anew. */
  const plain = (line) => line.replace(/%\d+(:\d+)?/g, "%").trim();
  for (const passes of all(".passes")) {
    let before = null;
    for (const pre of all("pre", passes)) {
      const lines = pre.textContent.split("\n");
      const counts = new Map();
      for (const line of lines) counts.set(plain(line), (counts.get(plain(line)) || 0) + 1);
      if (before) {
        const left = new Map(before);
        pre.textContent = "";
        let fresh = 0;
        lines.forEach((line, i) => {
          const n = left.get(plain(line)) || 0;
          left.set(plain(line), n - 1);
          const isNew = n <= 0 && plain(line) !== "";
          fresh += isNew;
          pre.append(isNew ? make("span", { class: "new" }, line) : line);
          if (i < lines.length - 1 && !isNew) pre.append("\n");
          if (isNew && i < lines.length - 1) pre.append("\n");
        });
        const summary = pre.parentNode.querySelector("summary");
        if (fresh) summary.append(make("span", { class: "quiet" },
          " \u00b7 " + fresh + (fresh === 1 ? " new line" : " new lines")));
      }
      before = counts;
    }
  }

  /* A picture of the last graph of a text: nodes in layers, operands above their users. */
  const MOST_DRAWN = 220;
  const SILENT = new Set(["constant", "broadcast", "reshape"]);
  const short = (text, n) => (text.length > n ? text.slice(0, n - 1) + "\u2026" : text);
  /* What the regions of a text compute, by name: "sub, exp, mul". */
  const bodies = (text) => {
    const found = new Map();
    for (const block of text.split("\ngraph @").slice(1)) {
      const ops = Array.from(block.matchAll(/^\s*%\d+(?::\d+)? = (\w+)/gm), (m) => m[1]);
      found.set(block.slice(0, block.indexOf("(")), ops.filter((op) => !SILENT.has(op)).join(", "));
    }
    return found;
  };
  const read = (text) => {
    const inside = bodies(text);
    const start = text.lastIndexOf("\ngraph @");
    const lines = text.slice(start + 1).split("\n");
    const head = lines[0].match(/^graph @\S*?\((.*)\) \{/);
    if (!head) return null;
    const nodes = new Map();
    const add = (id, op, type, operands, kind) => {
      nodes.set(id, { id, op, type, operands, kind, layer: 0, x: 0 });
    };
    for (const p of head[1].matchAll(/%(\d+): ([a-z0-9]+\[[^\]]*\])/g)) add(p[1], "input", p[2], [], "input");
    for (const line of lines.slice(1)) {
      const node = line.match(/^\s*%(\d+)(?::\d+)? = (\w+)\(([^)]*)\)(.*) : (.*)$/);
      const end = line.match(/^\s*return (.*)$/);
      if (node) {
        const operands = (node[3].match(/%(\d+)/g) || []).map((v) => v.slice(1));
        const whole = node[4].match(/@(\S+) \{name = "mica\.(?:claimed\.)?(?:mica\.)?([^"]*)"/);
        if (node[2] === "constant") continue;
        const isBody = whole && (whole[2] === "fused" || whole[2] === "contraction");
        const op = whole ? (isBody && inside.get(whole[1])) || whole[2] : node[2];
        add(node[1], op, node[5], operands, whole ? "whole" : "op");
      } else if (end) {
        add("end", "results", "", (end[1].match(/%(\d+)/g) || []).map((v) => v.slice(1)), "end");
      }
    }
    return nodes;
  };
  const layOut = (nodes) => {
    const layers = [];
    for (const n of nodes.values()) {
      n.operands = Array.from(new Set(n.operands)).filter((o) => nodes.has(o));
      n.layer = n.operands.length ? 1 + Math.max(...n.operands.map((o) => nodes.get(o).layer)) : 0;
    }
    /* Inputs and other beginnings stand just above their first user. */
    const first = new Map();
    for (const n of nodes.values())
      for (const o of n.operands)
        if (!first.has(o) || first.get(o) > n.layer) first.set(o, n.layer);
    for (const n of nodes.values())
      if (!n.operands.length && first.has(n.id)) n.layer = first.get(n.id) - 1;
    for (const n of nodes.values()) (layers[n.layer] = layers[n.layer] || []).push(n);
    for (let i = 0; i < layers.length; i++) layers[i] = layers[i] || [];
    const place = () => layers.forEach((layer) => layer.forEach((n, i) => {
      n.x = (i + 0.5 - layer.length / 2);
    }));
    place();
    for (let round = 0; round < 6; round++) {
      for (const layer of layers) {
        for (const n of layer)
          n.want = n.operands.length
            ? n.operands.reduce((sum, o) => sum + nodes.get(o).x, 0) / n.operands.length : n.x;
        layer.sort((a, b) => a.want - b.want);
      }
      place();
    }
    return layers;
  };
  const picture = (text) => {
    const nodes = read(text);
    if (!nodes || nodes.size > MOST_DRAWN) return null;
    const layers = layOut(nodes);
    const widest = Math.max(...layers.map((l) => l.length));
    const across = 178, down = 70, width = widest * across + 20, height = layers.length * down + 10;
    const svg = draw("svg", { width, height, viewBox: "0 0 " + width + " " + height });
    const at = (n) => [width / 2 + n.x * across, n.layer * down + 30];
    for (const n of nodes.values())
      for (const o of n.operands) {
        const [x1, y1] = at(nodes.get(o)), [x2, y2] = at(n);
        const half = Math.max(18, (y2 - y1) / 2);
        svg.append(draw("path", { d: "M" + x1 + " " + (y1 + 19) + "C" + x1 + " " + (y1 + 19 + half * .7) +
          " " + x2 + " " + (y2 - 19 - half * .7) + " " + x2 + " " + (y2 - 19) }));
      }
    for (const n of nodes.values()) {
      const [x, y] = at(n);
      const g = draw("g", { class: n.kind });
      g.append(draw("rect", { x: x - 80, y: y - 19, width: 160, height: 38, rx: 7 }));
      g.append(draw("text", { x, y: n.type ? y - 2 : y + 4 }, short(n.op, 22)));
      if (n.type) g.append(draw("text", { class: "type", x, y: y + 13 }, short(n.type, 24)));
      g.append(draw("title", {}, "%" + n.id + " = " + n.op + " : " + n.type));
      svg.append(g);
    }
    const box = make("div", { class: "drawing" });
    box.append(svg);
    return box;
  };
  for (const pre of all(".passes pre")) {
    const text = pre.textContent;
    const button = make("button", { type: "button", class: "draw" }, "Draw the graph");
    let box = null;
    button.addEventListener("click", () => {
      if (box) {
        box.hidden = !box.hidden;
      } else {
        box = picture(text) || make("p", { class: "quiet" }, "Too many nodes to draw.");
        pre.before(box);
        if (box.scrollWidth > box.clientWidth) box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
      }
      button.textContent = box.hidden ? "Draw the graph" : "Hide the picture";
    });
    pre.before(button);
  }

  addEventListener("hashchange", reveal);
  reveal();
})();
