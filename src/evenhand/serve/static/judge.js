"use strict";
// Keeps what is typed until it has arrived, and sends it again while the network is away.
// A score for the same ticket counts once, so that sending twice does no harm.
const form = document.getElementById("judge");
const state = document.getElementById("state");
const wrong = document.getElementById("wrong");
const place = "evenhand " + form.dataset.ticket;

function kept() {
  try { return JSON.parse(localStorage.getItem(place) || "{}"); } catch (broken) { return {}; }
}
function remember() {
  const data = new FormData(form);
  try { localStorage.setItem(place, JSON.stringify({ score: data.get("score") || "", note: data.get("note") || "" })); }
  catch (full) { /* it is typed again, then */ }
}
function forget() {
  try { localStorage.removeItem(place); } catch (closed) { /* there is nothing to forget */ }
}

for (const [name, value] of Object.entries(kept())) {
  for (const field of form.elements) {
    if (field.name !== name || !value) continue;
    if (field.type === "radio") field.checked = field.value === value;
    else if (!field.value) field.value = value;
  }
}
form.addEventListener("input", remember);

const slide = document.getElementById("slide");
if (slide) {
  const score = document.getElementById("score");
  const follow = () => { const n = Number(score.value.replace(",", ".")); if (score.value && !Number.isNaN(n)) slide.value = n; };
  const step = (slide.max - slide.min) / 100;
  slide.addEventListener("input", () => { score.value = String(Number((Math.round(slide.value / step) * step).toPrecision(6))); remember(); });
  score.addEventListener("input", follow);
  follow();
}

function say(words) {
  wrong.textContent = words;
  wrong.hidden = !words;
  if (words) wrong.scrollIntoView({ block: "center" });
}

let sending = false;
async function send() {
  if (sending) return;
  sending = true;
  say("");
  state.textContent = "sending …";
  for (let pause = 1000; ; pause = Math.min(2 * pause, 15000)) {
    try {
      const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { Accept: "text/html" } });
      if (answer.ok) { forget(); location.assign(answer.url); return; }
      if (answer.status < 500 && answer.status !== 429) {
        const said = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[role=alert]");
        say(said ? said.textContent : "This was not taken. Open your link again.");
        state.textContent = "";
        sending = false;
        return;
      }
    } catch (lost) { /* the network is away: it is tried again */ }
    state.textContent = "No connection. What you typed is kept, and sent when there is one.";
    await new Promise((over) => setTimeout(over, pause));
  }
}
form.addEventListener("submit", (event) => { event.preventDefault(); remember(); send(); });
