// Plays the live page and reports what it shows: see live_unix_test.go.

const text = id => document.getElementById(id).textContent
const number = id => Number(text(id).replaceAll(",", ""))
const until = async (what, done) => {
  for (const end = performance.now() + 60_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${text("text")} ${document.body.innerText}`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
const held = () => [...document.querySelectorAll("#held li")].map(li => li.innerText.replaceAll(/\s+/g, " "))

const world = document.getElementById("world")
// picture returns the canvas in a coarse raster.
const picture = () => {
  const small = new OffscreenCanvas(160, 120).getContext("2d")
  small.drawImage(world, 0, 0, 160, 120)
  return new Uint32Array(small.getImageData(0, 0, 160, 120).data.buffer)
}
const hash = pixels => String(pixels.reduce((h, p) => (Math.imul(h, 31) + p) | 0, 0))

await until("session", () => document.body.classList.contains("joined"))
await until("bodies", () => number("awake") + number("asleep") > 100)
const before = hash(picture())

const handle = document.getElementById("handle")
const paste = s => {
  handle.value = s
  handle.dispatchEvent(new Event("input"))
  document.querySelector("#paste button").click()
}
paste("17w3")
const misspelled = handle.validationMessage
paste("9999v7")
await until("pasted handle", () => held()[0].startsWith("9999v7 pending"))
const pasted = held()[0]

dispatchEvent(new KeyboardEvent("keydown", { code: "KeyD" }))
await until("audits", () => number("audited") > 20)
await until("stale handle", () => held().some(line => line.includes("stale")))
dispatchEvent(new KeyboardEvent("keyup", { code: "KeyD" }))

const pixels = picture()
browsertest.report({
  message: document.getElementById("message").hidden ? "" : text("text"),
  awake: number("awake"), asleep: number("asleep"), players: number("players"), live: number("live"), stale: number("stale"),
  audited: number("audited"), faults: number("faults"), colours: new Set(pixels).size, before, after: hash(pixels),
  held: held(), pasted, misspelled, requests: performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith("data:") && !n.startsWith("blob:")),
})
