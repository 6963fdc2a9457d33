"use strict";
// Keeps what is typed until it has arrived, and sends it again while the network is away.
// A score for the same ticket counts once, so that sending twice does no harm.
const form = document.getElementById("judge");
const state = document.getElementById("state");
const place = "evenhand " + form.dataset.ticket;

const typed = JSON.parse(localStorage.getItem(place) || "{}");
for (const [name, value] of Object.entries(typed)) {
  for (const field of form.elements) {
    if (field.name !== name) continue;
    if (field.type === "radio") field.checked = field.value === value;
    else if (!field.value) field.value = value;
  }
}

function remember() {
  const data = new FormData(form);
  localStorage.setItem(place, JSON.stringify({ score: data.get("score") || "", note: data.get("note") || "" }));
}
form.addEventListener("input", remember);

const slide = document.getElementById("slide");
if (slide) {
  const score = document.getElementById("score");
  slide.addEventListener("input", () => { score.value = String(Math.round(slide.value * 10) / 10); remember(); });
  score.addEventListener("input", () => { const n = Number(score.value.replace(",", ".")); if (!Number.isNaN(n)) slide.value = n; });
}

let sending = false;
async function send() {
  if (sending) return;
  sending = true;
  state.textContent = "sending …";
  for (let pause = 1000; ; pause = Math.min(2 * pause, 15000)) {
    try {
      const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { Accept: "text/html" } });
      if (answer.status < 500) {
        if (answer.ok) { localStorage.removeItem(place); location.assign("/judge"); return; }
        sending = false;
        document.open(); document.write(await answer.text()); document.close();
        return;
      }
    } catch (lost) { /* the network is away: it is tried again */ }
    state.textContent = "no connection; what you typed is kept, and sent when there is one";
    await new Promise((over) => setTimeout(over, pause));
  }
}
form.addEventListener("submit", (event) => { event.preventDefault(); remember(); send(); });
