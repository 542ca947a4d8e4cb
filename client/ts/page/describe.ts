// The components of an entity as texts.

import {
  type Client,
  type Component,
  type Entity,
  type Field,
  formatHandle,
  type Moment,
  printable,
} from '../src/index.ts'

/** A component's name and values. */
export interface ComponentText {
  readonly name: string
  readonly text: string
}

/** Bounds the characters of an entity's summary. */
const maxSummary = 200

/** Returns the components of an entity, with the values of a moment. */
export function componentsOf(c: Client, e: Entity, m: Moment): ComponentText[] {
  const { components } = c.schema
  return components.filter((x) => e.has(x.name)).map((x) => textOf(c, e, x, m, x.fields))
}

/** Returns an entity's components as one text, without its motion, and without 64-bit integers, which are identifiers. */
export function summaryOf(c: Client, e: Entity, m: Moment): string {
  const text = c.schema.components
    .filter((x) => x.name !== 'body' && e.has(x.name))
    .map((x) => {
      const fields = x.fields.filter((f) => f.n < 64 || f.kind === 'float')
      return joined(textOf(c, e, x, m, fields))
    })
    .join(' · ')
  return text.length > maxSummary ? `${text.slice(0, maxSummary)} …` : text
}

/** Returns a component as one text. */
export function joined(c: ComponentText): string {
  return [c.name, c.text].filter(Boolean).join(': ')
}

function textOf(c: Client, e: Entity, x: Component, m: Moment, fields: readonly Field[]): ComponentText {
  const words = c.schema.texts.flatMap((t, i) => {
    const text = e.texts[i]
    return t.component === x.index && typeof text === 'string' && text !== '' ? [`${t.path} ${printable(text)}`] : []
  })
  const values: string[] = []
  for (const f of fields) {
    const text = fieldText(e, f, m)
    const element = /^(.*)\[(\d+)\]$/.exec(f.path) // of a vector, whose values stand together
    if (element && element[2] !== '0' && values.length > 0) values.push(`${values.pop()} ${text}`)
    else values.push(`${element?.[1] ?? f.path} ${text}`)
  }
  return { name: x.name, text: [...values, ...words].join(', ') }
}

function fieldText(e: Entity, f: Field, m: Moment): string {
  if (f.kind === 'ref') return formatHandle(e.reference(f))
  if (f.kind === 'quat') return e.quaternionAt(f, m, [0, 0, 0, 1]).map(rounded).join(' ')
  if (f.kind === 'bool') return String(e.number(f) !== 0)
  if (f.n < 64 || f.kind === 'float') return rounded(e.numberAt(f, m))
  const bits: bigint = e.reference(f) // the two words of any field
  return String(f.kind === 'int' ? BigInt.asIntN(64, bits) : bits)
}

function rounded(n: number): string {
  return String(Math.round(n * 100) / 100)
}

/** Returns the name of an entity: a text whose path or component is name. */
export function nameOf(c: Client, e: Entity): string {
  const { texts, components } = c.schema
  for (let i = 0; i < texts.length; i++) {
    const text = e.texts[i]
    if (
      typeof text === 'string' &&
      text !== '' &&
      (/(^|\.)name$/i.test(texts[i]!.path) || components[texts[i]!.component]!.name === 'name')
    )
      return printable(text)
  }
  return ''
}
