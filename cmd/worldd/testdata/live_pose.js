// Plays the live page until a picture of it explains it: see live_picture_unix_test.go.

window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16)

const key = (type, code) => dispatchEvent(new KeyboardEvent(type, { code }))
const lines = word => [...document.querySelectorAll("#held li")].filter(li => li.innerText.includes(word)).length
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
while (!document.body.classList.contains("joined")) await sleep(50)
const world = document.getElementById("world")
world.setPointerCapture = () => {}

// hold presses the button that holds the nearest entity of a kind.
const hold = kind => document.querySelector(`#kinds button[aria-label="Hold nearest ${kind}"]`).click()

await sleep(2000)
key("keydown", "KeyA")
await sleep(1000)
key("keyup", "KeyA")
hold("crate")
for (let i = 0; i < 8 && lines("stale") < 2; i++) {
  if (lines("live") < 4) hold("spark")
  await sleep(1500)
}
hold("spark")
await sleep(700)
await fetch("/posed", { method: "POST" })
