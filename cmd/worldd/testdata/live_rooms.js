// Watches the live page while the server moves its session: see live_rooms_unix_test.go.

// Frames of a headless page may stand still.
window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16)

const room = document.getElementById("roomname")
const held = () => [...document.querySelectorAll("#held li")].map(li => li.innerText.replaceAll(/\s+/g, " "))
const until = async (what, done) => {
  for (const end = performance.now() + 60_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${document.body.innerText}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
const inView = () => Number(document.querySelector("#kinds b")?.textContent ?? 0)

await until("first room", () => document.body.classList.contains("joined") && room.value === "lobby")
await until("handle", () => held().some(line => line.includes("in view")))
await browsertest.report("holds")
await until("next room", () => room.value === "match")
await until("handle of the first room", () => held().some(line => line.includes("of another room")))
await until("entity of the next room", () => held().some(line => line.includes("in view")) || inView() > 0)
browsertest.report({ held: held(), joined: document.body.classList.contains("joined") && document.getElementById("message").hidden })
