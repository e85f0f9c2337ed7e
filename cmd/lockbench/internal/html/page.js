"use strict";
(() => {
  // The theme follows the system until the button is pressed; ?theme=dark asks for one too.
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = new URLSearchParams(location.search).get("theme");
  const current = () => chosen || (dark.matches ? "dark" : "light");
  const paint = () => {
    if (chosen) root.style.colorScheme = chosen;
    button.textContent = current() === "dark" ? "light" : "dark";
  };
  button.hidden = false;
  button.onclick = () => {
    chosen = current() === "dark" ? "light" : "dark";
    paint();
  };
  dark.addEventListener("change", paint);
  addEventListener("beforeprint", () => { root.style.colorScheme = ""; });
  addEventListener("afterprint", paint);
  paint();

  // Without this script all panels of a section stand below each other.
  for (const group of document.querySelectorAll(".panels")) {
    const tabs = group.querySelector(".tabs");
    const panels = group.querySelectorAll(":scope > .panel");
    const show = (chosen) => {
      [...tabs.children].forEach((tab, i) => {
        tab.setAttribute("aria-pressed", i === chosen);
        panels[i].hidden = i !== chosen;
      });
    };
    [...tabs.children].forEach((tab, i) => { tab.onclick = () => show(i); });
    tabs.hidden = false;
    show(0);
  }

  const nearest = (xs, x) => {
    let best = 0;
    xs.forEach((v, i) => { if (Math.abs(v - x) < Math.abs(xs[best] - x)) best = i; });
    return best;
  };

  for (const figure of document.querySelectorAll(".chart")) {
    const plot = figure.querySelector("svg[data-hover]");
    if (!plot) continue;
    const { x, t, s } = JSON.parse(plot.dataset.hover);
    const texts = t.split("|");
    for (const set of s) set.v = set.v.split("|");
    const readout = figure.querySelector(".readout");
    const cursor = plot.querySelector(".cursor");
    const off = new Set();

    for (const toggle of figure.querySelectorAll(".legend button")) {
      toggle.onclick = () => {
        const i = Number(toggle.dataset.series);
        const now = off.delete(i) || !off.add(i);
        toggle.setAttribute("aria-pressed", now);
        plot.querySelector(`g[data-series="${i}"]`).style.display = now ? "" : "none";
      };
    }

    const line = (...parts) => {
      const div = document.createElement("div");
      div.append(...parts);
      return div;
    };
    const point = (event) => {
      const box = plot.getBoundingClientRect();
      const at = 100 * (event.clientX - box.left) / box.width;
      const i = nearest(x, at);
      const values = s.map((set, k) => [set, k]).filter(([set, k]) => !off.has(k) && set.v[i]);
      if (at < -3 || at > 103 || !values.length) return leave();
      cursor.setAttribute("x1", x[i] + "%");
      cursor.setAttribute("x2", x[i] + "%");
      cursor.setAttribute("visibility", "visible");
      readout.replaceChildren(line(texts[i]), ...values.sort(([a], [b]) => a.y[i] - b.y[i]).map(([set]) => {
        const name = document.createElement("span");
        const spot = document.createElement("i");
        spot.className = set.c;
        name.append(spot, set.n);
        return line(name, set.v[i]);
      }));
      readout.hidden = false;
      const left = plot.offsetLeft || box.left - figure.getBoundingClientRect().left;
      const here = left + box.width * x[i] / 100;
      const width = readout.offsetWidth;
      readout.style.left = Math.max(0, here + 12 + width > left + box.width ? here - 12 - width : here + 12) + "px";
      readout.style.top = "2rem";
    };
    const leave = () => {
      readout.hidden = true;
      cursor.setAttribute("visibility", "hidden");
    };
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    plot.addEventListener("pointerleave", leave);
  }
})();
