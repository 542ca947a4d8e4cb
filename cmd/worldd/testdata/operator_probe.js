// Operates the operator's page and reports what it shows: see operator_page_unix_test.go.

const byId = id => document.getElementById(id)
const until = async (what, done) => {
  for (const end = performance.now() + 100_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${document.body.innerText}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
const rows = () => [...document.querySelectorAll("#visitors tr")].map(tr => tr.innerText.replaceAll(/\s+/g, " "))
const inRow = (name, what) => [...document.querySelectorAll("#visitors tr")].find(tr => tr.innerText.includes(name)).querySelector(what)
const search = words => {
  byId("search").value = words
  byId("search").dispatchEvent(new Event("input"))
}

// The profile takes seconds, in which the rest runs.
let profile = 0
const createObjectURL = URL.createObjectURL
URL.createObjectURL = blob => {
  profile = blob.size
  return createObjectURL(blob)
}
// The figures of idle sessions on a fast machine never change: each answer has another round trip.
const ask = window.fetch
let roundTrip = 0
window.fetch = async (url, options) => {
  const answer = await ask(url, options)
  if (url !== "/sessions") return answer
  roundTrip++
  return Response.json((await answer.json()).map(session => ({ ...session, rtt_ms: roundTrip })))
}
await until("sessions", () => rows().length === 3)
byId("profile").click()
const all = rows()
await until("traffic", () => document.querySelectorAll("#coded tr").length > 0)
const coded = byId("coded").innerText
const tick99 = byId("p99").textContent

// The focus stays on a button while its row changes, and on its field while rows come and go.
const kick = inRow("ada", "button")
kick.focus()
const before = inRow("ada", "td:nth-child(7)")
let changes = 0
new MutationObserver(() => changes++).observe(byId("visitors"), { subtree: true, characterData: true, childList: true })
await until("new figures", () => changes > 0)
const kept = document.activeElement === kick && before.isConnected
byId("search").focus()
search("BEN ")
await until("a search", () => rows().length === 1)
const found = rows()
search("nobody at all")
const none = { rows: rows().length, said: !byId("nosession").hidden }
search("")
const watch = inRow("ada", "a").getAttribute("href")
const axe = await axeFindings()

// Nothing happens until it is confirmed.
inRow("ada", "button").click()
const question = byId("question").textContent
const axeOfDialog = await axeFindings()
byId("cancel").click()
const asked = { open: byId("confirmation").open, rows: rows().length }
inRow("ada", "button").click()
byId("reason").value = "be kind"
byId("confirmed").click()
await until("the end of a session", () => rows().length === 2)
await until("profile", () => !byId("profile").disabled)

browsertest.report({
  all, coded, tick99, kept, found, none, watch, question, asked, left: rows(), profile, trouble: byId("trouble").textContent,
  axe: axe && axeOfDialog && [...axe, ...axeOfDialog],
})
