// The data are gzip'd JSON in base64, so that nothing a model wrote is ever read as markup or script; text reaches
// the page through textContent alone. Blocks of rounds are unpacked when one of theirs is looked at.
const CELL = 8.4, ROW = 22, GAP = 34, MARGIN = 16, BONUS = -2, ROOT = -1;
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

async function unpack(id) {
  const packed = Uint8Array.from(atob(byId(id).textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function make(parent, tag, properties, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function draw(parent, tag, properties, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

let run, shown = -1, wanted = 0, timer = null, fits = true;
const blocks = new Map();

async function roundAt(index) {
  const number = Math.floor(index / run.per_block);
  if (!blocks.has(number)) {
    if (blocks.size > 8) blocks.delete(blocks.keys().next().value);
    blocks.set(number, unpack("rounds-" + number));
  }
  return (await blocks.get(number))[index % run.per_block];
}

async function show(index) {
  const last = run.rounds.length - 1;
  wanted = Math.max(0, Math.min(last, index));
  if (last < 0) {
    byId("heading").textContent = `${run.rounds_told} rounds, and only their totals are known`;
    drawNumbers(null);
    return;
  }
  const asked = wanted;
  const round = await roundAt(asked);
  if (asked !== wanted) return;
  shown = asked;
  byId("slider").value = shown + 1;
  for (const span of document.querySelectorAll("#text span.shown")) span.classList.remove("shown");
  const written = document.querySelectorAll(`#text span[data-round="${shown}"]`);
  for (const span of written) span.classList.add("shown");
  if (written.length) written[0].scrollIntoView({ block: "nearest" });
  drawHeading(round);
  drawNumbers(round);
  drawTimeline();
  drawTree(round);
  document.body.dataset.round = shown + 1;
}

function drawHeading(round) {
  const heading = byId("heading");
  heading.textContent = `round ${shown + 1} of ${run.rounds.length}  `;
  make(heading, "small", {}, round.outcome);
}

// A time or a speed of 0 is one that an imported run does not say.
const known = (value) => (value ? value.toFixed(1) : "unknown");

function row(table, name, values) {
  const line = make(table, "tr");
  make(line, "th", {}, name);
  for (const value of values) make(line, "td", {}, value);
}

function drawNumbers(round) {
  const box = byId("numbers");
  box.replaceChildren();
  const table = make(box, "table");
  const head = make(make(table, "thead"), "tr");
  for (const name of ["", "round", "run"]) make(head, "th", {}, name);
  const body = make(table, "tbody");
  row(body, "acceptance length", [round ? round.length : "", run.mean.toFixed(2)]);
  row(body, "milliseconds", [round ? known(round.ms.total) : "", known(run.mean_ms.total)]);
  for (const stage of run.stages) {
    const stages = [round?.ms, run.mean_ms].map((ms) => (!ms ? "" : ms.verify ? ms[stage].toFixed(1) : "unknown"));
    row(body, stage, stages);
  }
  row(body, "tokens per second", ["", known(run.tokens_per_second)]);
  row(body, "tokens", ["", run.tokens]);
  row(body, "rounds", ["", run.rounds_told]);
  const bars = make(box, "div", { id: "histogram", title: "rounds by acceptance length" });
  const axis = make(box, "div");
  const most = Math.max(1, ...run.histogram);
  run.histogram.forEach((count, length) => {
    if (!length) return;
    const bar = make(bars, "div", { title: `${count} rounds of ${length}`, style: `height:${(100 * count) / most}%` });
    if (round && length === round.length) bar.className = "shown";
    make(axis, "span", {}, length);
  });
}

function drawTimeline() {
  const canvas = byId("timeline"), scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = 48, count = run.rounds.length;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d"), style = getComputedStyle(canvas);
  context.scale(scale, scale);
  const most = Math.max(8, run.histogram.length - 1), cell = Math.min(14, width / count);
  const paint = (index, colour, least) => {
    const [length, miss] = run.rounds[index], tall = Math.max(2, ((height - 8) * length) / most);
    context.fillStyle = colour;
    context.fillRect(index * cell, height - tall, Math.max(least, cell - (cell > 4 ? 2 : 0)), tall);
    if (miss && cell >= 3) context.fillRect(index * cell, 0, Math.max(1, Math.min(4, cell - 1)), 3);
  };
  const colours = getComputedStyle(document.documentElement);
  const probe = make(document.body, "i", { style: "color:var(--bars)" });
  const bars = getComputedStyle(probe).color;
  probe.style.color = "var(--shown)";
  const mark = getComputedStyle(probe).color;
  probe.remove();
  for (let index = 0; index < count; index++) paint(index, bars, 0.5);
  paint(shown, mark, 2);
  canvas.dataset.cell = cell;
}

function drawTree(round) {
  const box = byId("tree");
  const places = round.places;
  const widths = [];
  const glyphOf = (place) => run.glyphs[place.state];
  const cellsOf = (place) => glyphOf(place).length + 1 + place.cells + (place.p ? 1 + place.p.length : 0);
  for (const place of places) widths[place.depth] = Math.max(widths[place.depth] || 0, cellsOf(place) * CELL);
  const x = [MARGIN];
  for (const width of widths) x.push(x[x.length - 1] + width + GAP);
  const rows = 1 + Math.max(...places.map((place) => place.row));
  const y = (place) => MARGIN + ROW * (0.5 + place.row);
  const svg = document.createElementNS(SVG, "svg");
  const width = x[x.length - 1] - GAP + MARGIN, height = 2 * MARGIN + rows * ROW;
  const scale = fits ? Math.min(1, box.clientWidth / width) : 1; // the whole width is seen, however deep the tree
  const size = { viewBox: `0 0 ${width} ${height}`, width: width * scale, height: height * scale, role: "img" };
  for (const [name, value] of Object.entries(size)) svg.setAttribute(name, value);
  byId("fit").hidden = width <= box.clientWidth;
  for (const place of places) {
    if (place.parent < 0) continue;
    const parent = places[place.parent], to = x[place.depth] - 4, bend = x[place.depth] - GAP / 2;
    const way = place.row === parent.row
      ? `M${x[parent.depth] + cellsOf(parent) * CELL + 4} ${y(place)}H${to}`
      : `M${bend} ${y(parent)}V${y(place) - 6}q0 6 6 6H${to}`;
    draw(svg, "path", { class: place.state === "bonus" ? "accepted" : place.state, d: way });
  }
  for (const place of places) {
    const group = draw(svg, "g", {});
    draw(group, "title", {}, place.tip);
    let at = x[place.depth];
    const words = [[glyphOf(place), glyphOf(place).length, place.state], [run.labels[place.id], place.cells, place.state]];
    if (place.p) words.push([place.p, place.p.length, "p"]);
    for (const [word, cells, style] of words) {
      draw(group, "text", { class: style, x: at, y: y(place) + 5, textLength: Math.max(1, cells) * CELL,
        lengthAdjust: "spacingAndGlyphs" }, word);
      at += (cells + 1) * CELL;
    }
  }
  box.replaceChildren(svg);
}

function drawText() {
  const box = byId("text");
  make(box, "p", { class: "user", dir: "auto" }, run.prompt);
  for (const [section, pieces] of run.text) {
    if (!pieces.length) continue;
    const paragraph = make(box, "p", { class: section, dir: "auto" });
    for (const [round, text] of pieces) make(paragraph, "span", { "data-round": round }, text);
  }
  box.addEventListener("click", (event) => {
    const round = Number(event.target.dataset.round ?? -1);
    if (round >= 0) show(round);
  });
}

function play(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => (wanted < run.rounds.length - 1 ? show(wanted + 1) : play(false)), 120) : null;
  byId("play").textContent = on ? "Pause" : "Play";
}

async function start() {
  run = await unpack("run");
  document.title = run.title;
  byId("facts").textContent = run.facts;
  drawText();
  for (const [glyph, name, meaning] of run.legend) {
    const entry = make(byId("legend"), "div");
    make(entry, "b", {}, glyph);
    entry.append(` ${name}: ${meaning}`);
  }
  const slider = byId("slider");
  slider.max = Math.max(1, run.rounds.length);
  slider.addEventListener("input", () => { play(false); show(slider.value - 1); });
  byId("play").addEventListener("click", () => {
    if (!timer && wanted >= run.rounds.length - 1) wanted = -1;
    play(!timer);
  });
  byId("timeline").addEventListener("click", (event) => {
    play(false);
    show(Math.floor(event.offsetX / byId("timeline").dataset.cell));
  });
  byId("fit").addEventListener("click", () => {
    fits = !fits;
    byId("fit").textContent = fits ? "Full size" : "Fit width";
    show(shown);
  });
  window.addEventListener("resize", () => shown >= 0 && show(shown));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "BUTTON") return;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
    if (event.key in steps) show(wanted + steps[event.key]);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(run.rounds.length - 1);
    else if (event.key === " ") play(!timer);
    else return;
    event.preventDefault();
  });
  const asked = Number(location.hash.slice(1));
  await show(asked > 0 ? asked - 1 : 0);
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  make(document.body, "p", { id: "broken" }, `This page cannot be shown: ${error.message}`);
});
