// Plays the live page until a picture of it explains it: see live_picture_unix_test.go.

window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16)

const key = (type, code) => dispatchEvent(new KeyboardEvent(type, { code }))
const lines = word => [...document.querySelectorAll("#held li")].filter(li => li.innerText.includes(word)).length
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
while (!document.body.classList.contains("joined")) await sleep(50)
const world = document.getElementById("world")
world.setPointerCapture = () => {}

// points returns pixels of the canvas with a colour of the style sheet, at most one in each square of 40.
const points = name => {
  const [r, g, b] = getComputedStyle(document.documentElement).getPropertyValue("--" + name).match(/[0-9a-f]{2}/g).map(x => parseInt(x, 16))
  const { data } = world.getContext("2d").getImageData(0, 0, world.width, world.height)
  const found = new Map()
  for (let i = 0; i < data.length; i += 4) {
    if (data[i] !== r || data[i + 1] !== g || data[i + 2] !== b) continue
    const x = (i / 4) % world.width
    const y = Math.floor(i / 4 / world.width)
    if (Math.abs(x / world.width - 0.5) < 0.4 && Math.abs(y / world.height - 0.45) < 0.35) found.set(Math.floor(x / 40) + "," + Math.floor(y / 40), [x, y])
  }
  return [...found.values()]
}

// hold clicks on the point of a colour that is the nth of a share of all.
const hold = (name, share) => {
  const all = points(name)
  if (all.length === 0) return
  const [x, y] = all[Math.floor(share * (all.length - 1))]
  const at = { offsetX: x / devicePixelRatio, offsetY: y / devicePixelRatio, pointerId: 1 }
  world.onpointerdown(at)
  world.onpointerup(at)
}

await sleep(2000)
key("keydown", "KeyA")
await sleep(1000)
key("keyup", "KeyA")
hold("asleep", 0.3)
for (let i = 0; i < 8 && lines("stale") < 2; i++) {
  if (lines("live") < 4) hold("awake", (i % 4) / 3)
  await sleep(1500)
}
hold("awake", 0.1)
await sleep(700)
await fetch("/posed", { method: "POST" })
