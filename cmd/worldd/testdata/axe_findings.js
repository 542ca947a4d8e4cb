// axeFindings returns what axe-core finds in the page, in the light theme and then in the dark one; null without axe-core.
async function axeFindings() {
  if (!window.axe) return null
  const findings = async theme =>
    (await axe.run()).violations.flatMap(v => v.nodes.map(n => `${theme}: ${v.id}: ${n.html}: ${n.failureSummary}`))
  const light = await findings("light")
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules) if (rule.conditionText?.includes("prefers-color-scheme: dark")) rule.media.mediaText = "all"
  return [...light, ...(await findings("dark"))]
}
