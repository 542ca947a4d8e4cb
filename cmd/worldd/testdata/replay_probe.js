// Operates the page of a recording and reports what it shows: see replay_page_unix_test.go.

// Frames of a headless page may stand still.
window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16)

const byId = id => document.getElementById(id)
const text = id => byId(id).textContent
const tick = () => Number(text("tick").replaceAll(",", ""))
const until = async (what, done) => {
  for (const end = performance.now() + 60_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${document.body.innerText}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
const crates = () => Number(document.querySelector("#kinds b")?.textContent.replaceAll(",", ""))
const seek = async to => {
  byId("range").value = to
  byId("range").dispatchEvent(new Event("input"))
  await until(`tick ${to}`, () => tick() === to)
}
const jump = async (what, button) => {
  byId("what").value = what
  byId("found").textContent = ""
  byId(button).click()
  await until(`${button} of ${what}`, () => text("found") !== "")
  return text("found")
}
const line = () => document.querySelector("#held li").innerText.replaceAll(/\s+/g, " ")

await until("world", () => document.body.classList.contains("joined") && crates() > 0)
const verdict = text("verdict")
const pixels = new Uint32Array(byId("world").getContext("2d").getImageData(0, 0, 200, 200).data.buffer)
byId("differs").click()
await until("difference", () => tick() === 85)
const difference = text("tick")
const noDeath = await jump("deaths", "previous").then(async found => {
  await seek(1)
  return { found, none: await jump("deaths", "previous") }
})

const late = await jump("late", "next")
await until("late tick", () => tick() === 41)
const noLate = await jump("late", "next")
await seek(1)
const player = await jump("players", "next")
await until("player", () => tick() === 31)
byId("handle").value = /\d+v\d+/.exec(player)[0]
document.querySelector("#paste button").click()
await until("verdict", () => line().includes("live") && line().includes("position: "))
const born = line()
document.querySelector('#held button[aria-label^="follow"]').click()
const followed = text("followed")
await seek(20)
await until("earlier verdict", () => line().includes("pending"))
const before = line()
await jump("followed", "next")
await until("birth", () => tick() === 31 && line().includes("live"))
const after = line()

document.getElementById("world").dispatchEvent(new KeyboardEvent("keydown", { code: "Enter", bubbles: true }))
const details = () => [...document.querySelectorAll("#held .details")].find(d => !d.hidden)?.innerText.replaceAll(/\s+/g, " ") ?? ""
await until("details", () => details().includes("position"))
const inspected = details()

await seek(0)
dispatchKey("ArrowRight", true)
await until("second", () => tick() === 60)
const second = tick()
byId("speed").value = "0.25"
byId("play").click()
await until("playing", () => tick() > second)
const played = tick()
if (text("play") === "Pause") dispatchKey("Space", false) // unless it has reached the end
await until("pause", () => text("play") === "Play")

function dispatchKey(code, shiftKey) {
  document.body.dispatchEvent(new KeyboardEvent("keydown", { code, shiftKey, bubbles: true }))
}

const requests = performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith("data:") && !n.startsWith("blob:"))
browsertest.report({
  verdict, difference, crates: crates(), colours: new Set(pixels).size, player, late, lateness: text("late"), noLate, death: noDeath.found, noDeath: noDeath.none, followed,
  born, before, after, inspected, second, played, paused: tick(), trouble: text("trouble"),
  requests, axe: await axeFindings(),
})
