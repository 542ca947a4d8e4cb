// Watches the live page while its server ends and begins again: see live_unix_test.go.

// Frames of a headless page may stand still.
window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16)

const text = id => document.getElementById(id).textContent
const is = name => document.body.classList.contains(name)
const until = async (what, done) => {
  for (const end = performance.now() + 100_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${text("text")}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
const joined = () => is("joined") && document.getElementById("message").hidden

await until("session", joined)
await browsertest.report("joined")
await until("outage", () => is("gone"))
await browsertest.report({ text: text("text"), more: text("more"), axe: await axeFindings() })
await until("next session", joined)
await browsertest.report({ joined: is("joined"), gone: is("gone") })
