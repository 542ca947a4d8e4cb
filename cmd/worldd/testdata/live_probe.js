// Plays the live page and reports what it shows: see live_unix_test.go.

// Frames of a headless page may stand still.
let frames = 0
window.requestAnimationFrame = f => setTimeout(() => (frames++, f(performance.now())), 16)

const text = id => document.getElementById(id).textContent
const number = id => Number(text(id).replaceAll(",", ""))
const until = async (what, done) => {
  for (const end = performance.now() + 60_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${text("text")} ${document.body.innerText}`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
const inView = kind => {
  const row = [...document.querySelectorAll("#kinds li")].find(li => li.querySelector("span").textContent === kind)
  return Number(row.querySelector("b").textContent.replaceAll(",", ""))
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
const line = words => held().find(l => l.includes(words)) // the page itself holds handles meanwhile
await until("pasted handle", () => line("9999v7 pending"))
const pasted = line("9999v7 pending")

const hold = kind => document.querySelector(`#kinds button[aria-label="Hold nearest ${kind}"]`).click()
hold("crate")
await until("nearest crate", () => line("crate · in view × identity: Mark"))
const crate = line("crate · in view × identity: Mark")

// The picture leaves the avatar, which stays the middle of what the server sends.
const press = (target, key, code, shiftKey) => target.dispatchEvent(new KeyboardEvent("keydown", { key, code, shiftKey, bubbles: true }))
const isAway = () => !document.getElementById("back").hidden
const home = text("place")
press(world, "ArrowRight", "ArrowRight", true)
press(world, "+", "Equal", false)
await until("a picture that has left the avatar", isAway)
const away = { before: home, after: text("place"), bodies: number("awake") + number("asleep") }
press(world, "0", "Digit0", false)
await until("a picture of the avatar", () => !isAway())
press(document.getElementById("map"), "ArrowLeft", "ArrowLeft", false)
await until("a picture that the map has moved", isAway)
document.getElementById("back").click()
await until("a picture of the avatar again", () => !isAway())

// Enter on the picture inspects what is nearest to the middle, which may be a spark that dies before its details are seen.
const details = () => [...document.querySelectorAll("#held .details")].filter(d => !d.hidden).map(d => d.innerText.replaceAll(/\s+/g, " "))
const inspect = () => world.dispatchEvent(new KeyboardEvent("keydown", { code: "Enter", bubbles: true }))
inspect()
await until("details", () => {
  if (details().some(d => d.includes("→"))) inspect()
  return details().some(d => /^live at tick [^→]* body/.test(d))
})
const inspected = details()

dispatchEvent(new KeyboardEvent("keydown", { code: "KeyD" }))
await until("audits", () => number("audited") > 20)
await until("stale handle", () => {
  if (!held().some(line => line.includes("spark"))) hold("spark") // the page has found none at its beginning
  return held().some(line => line.includes("stale"))
})
const stale = document.querySelector("#held li:has(b.stale) .name")
if (stale.ariaExpanded === "false") stale.click() // it may be what Enter inspects
await until("history", () => details().some(d => d.includes("stale at tick")))
const history = details().find(d => d.includes("stale at tick"))
dispatchEvent(new KeyboardEvent("keyup", { code: "KeyD" }))

const pixels = picture()
const after = hash(pixels)

// Under a bad link the avatar moves in the frame of the key.
document.getElementById("bad").click()
await until("long round trips", () => parseFloat(text("rtt")) > 140)
const rtt = parseFloat(text("rtt"))
let moved = Infinity
let ahead
for (let i = 0; i < 3 && moved > 4; i++) { // a prediction waits for a server that is late
  await until("rest", () => parseInt(text("ahead")) === 0)
  const place = text("place")
  dispatchEvent(new KeyboardEvent("keydown", { code: "KeyW" }))
  const pressed = frames
  while (text("place") === place) await new Promise(resolve => setTimeout(resolve, 4))
  moved = frames - pressed
  await until("prediction", () => parseInt(text("ahead")) > 5)
  ahead = parseInt(text("ahead"))
  dispatchEvent(new KeyboardEvent("keyup", { code: "KeyW" }))
}
const components = document.getElementById("components").innerText

const agreed = number("agreed")
const corrected = number("corrected")
const late = number("late")
const shown = {
  message: document.getElementById("message").hidden ? "" : text("text"),
  awake: number("awake"), asleep: number("asleep"), avatars: inView("avatar"), kinds: document.querySelectorAll("#kinds li").length, crate, title: document.title, advice: text("advice"), live: number("live"), stale: number("stale"),
  audited: number("audited"), faults: number("faults"), held: held(),
}
const axe = await axeFindings()
// A session whose connection is just lost learns of its end later, or begins again.
const ended = () => text("text").startsWith("The operator has ended your session")
for (const end = performance.now() + 60_000; !ended(); await new Promise(resolve => setTimeout(resolve, 500))) {
  if (performance.now() > end) throw new Error(`no end: ${text("text")}`)
  for (const session of await (await fetch("/sessions")).json()) await fetch(`/sessions/${session.id}/kick`, { method: "POST" })
}

browsertest.report({
  ...shown, colours: new Set(pixels).size, before, after, pasted, misspelled, inspected, history, away,
  requests: performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith("data:") && !n.startsWith("blob:")),
  bad: { rtt, frames: moved, ahead, agreed, corrected, late }, components, axe, ended: text("text"),
})
