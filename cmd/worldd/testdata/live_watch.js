// Watches another session on the live page: see operator_page_unix_test.go.

// Frames of a headless page may stand still.
window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16)

const byId = id => document.getElementById(id)
const until = async (what, done) => {
  for (const end = performance.now() + 100_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${document.body.innerText}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
const { entity } = (await (await fetch("/sessions")).json())[0]
const line = () => [...document.querySelectorAll("#held li")].map(li => li.innerText.replaceAll(/\s+/g, " ")).find(l => l.startsWith(entity)) ?? ""

await until("session", () => document.body.classList.contains("joined"))
await until("watched session", () => !byId("watching").hidden && byId("watchtext").textContent.startsWith("Watching"))
const watching = byId("watchtext").textContent
byId("handle").value = entity
byId("handle").dispatchEvent(new Event("input"))
document.querySelector("#paste button").click()
await until("the other's entity", () => line().includes("in view"))
const live = line()
const axe = await axeFindings()
byId("unwatch").click()
await until("the page's own view", () => line().includes("hidden"))
browsertest.report({ watching, live, hidden: line(), query: location.search, axe })
