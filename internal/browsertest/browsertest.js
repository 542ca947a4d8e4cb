// Reports to the Go test that opened this page: see package browsertest.
const browsertest = {
  post: (kind, text) => fetch("/browsertest/" + kind, { method: "POST", body: text }),
  report: value => browsertest.post("report", JSON.stringify(value)),
  log: (...values) => browsertest.post("log", values.map(String).join(" ")),
  fail: error => browsertest.post("failure", String(error) + "\n" + (error?.stack ?? "")),
};
addEventListener("error", e => browsertest.fail(e.error ?? e.message ?? e.target?.src ?? "a resource does not load"), true);
addEventListener("unhandledrejection", e => browsertest.fail(e.reason));
