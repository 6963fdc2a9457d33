"use strict";
// What was done is said once, and not again where the page is loaded anew.
if (location.search) history.replaceState(null, "", location.pathname);

// Says when the server is away, and when it is back.
const lost = document.getElementById("lost");
document.body.addEventListener("htmx:sendError", () => { lost.hidden = false; });
document.body.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) lost.hidden = true; });

// Leaves a page alone that has not changed: whoever reads it keeps the place. Where the campaign is
// in another state, other things can be done, and the whole page is new.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id !== "live") return;
  const now = new DOMParser().parseFromString(event.detail.serverResponse, "text/html").getElementById("live");
  const shown = document.getElementById("live");
  if (!now || now.dataset.mark === shown.dataset.mark) event.detail.shouldSwap = false;
  else if (now.dataset.state !== shown.dataset.state) { event.detail.shouldSwap = false; location.reload(); }
  else for (const open of shown.querySelectorAll("details[open]")) now.querySelector(`#${open.id}`)?.setAttribute("open", "");
  if (event.detail.shouldSwap) event.detail.serverResponse = now.outerHTML;
});
