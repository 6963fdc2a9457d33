"use strict";
// Says when the server is away, and when it is back.
// What was done is said once, and not again where the page is loaded anew.
if (location.search) history.replaceState(null, "", location.pathname);
const lost = document.getElementById("lost");
document.body.addEventListener("htmx:sendError", () => { lost.hidden = false; });
document.body.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) lost.hidden = true; });
