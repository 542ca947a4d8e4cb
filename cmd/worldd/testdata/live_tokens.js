// Plays a live page that requires tokens: see live_unix_test.go.

const id = name => document.getElementById(name)
const text = () => id("text").textContent
const until = async (what, done) => {
  for (const end = performance.now() + 60_000; !done(); ) {
    if (performance.now() > end) throw new Error(`no ${what}: ${text()}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
const asks = () => !id("answer").hidden
const enter = token => {
  id("token").value = token
  id("go").click()
}

await until("question", asks)
const asked = text()
enter("OPERATOR")
await until("session", () => document.body.classList.contains("joined"))
const fragment = location.hash
id("leave").click()
await until("end", asks)
const left = text()
id("go").click()
await until("refusal of a token that is used up", () => asks() && !id("token").hidden)
const refused = text()
enter("CONNECT")
await until("second session", () => document.body.classList.contains("joined"))
await browsertest.report({ asked, fragment, left, refused, stored: localStorage.length + sessionStorage.length + document.cookie.length })
