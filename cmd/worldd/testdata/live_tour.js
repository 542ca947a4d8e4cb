// Takes the tour of the demo: see live_unix_test.go.

// Frames of a headless page may stand still.
let frames = 0
window.requestAnimationFrame = f => setTimeout(() => (frames++, f(performance.now())), 16)

const byId = id => document.getElementById(id)
const title = () => byId("tourtitle").textContent
const until = async (what, done) => {
  for (const end = performance.now() + 100_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${document.body.innerText}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
const next = byId("tournext")

await until("tour", () => document.body.classList.contains("joined") && title().startsWith("1 of 4"))
next.click()
// A spark may be gone before its button is pressed. The page shows in its next frame whether one was picked.
let pressed = -2
await until("handle", () => {
  if (frames > pressed + 1 && next.textContent === "Pick a spark for me" && !next.disabled) {
    next.click()
    pressed = frames
  }
  return title().startsWith("3 of 4")
})
const held = byId("tourtext").textContent
const axe = await axeFindings()
next.click()
await until("death", () => title().includes("went stale"))
const end = { title: title(), text: byId("tourtext").textContent, button: next.textContent }
next.click()
const closed = byId("tour").hidden
const seen = localStorage.length
byId("tourbegin").click()
await until("tour again", () => title().startsWith("1 of 4"))
const again = document.activeElement === next
next.dispatchEvent(new KeyboardEvent("keydown", { code: "Escape", bubbles: true }))
browsertest.report({ held, end, closed, seen, again, skipped: byId("tour").hidden, axe })
