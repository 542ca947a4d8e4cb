// Buttons for the commands of a game that take no arguments.

import { type Client, printable, type Result, type Schema } from '../src/index.ts'
import { element, setText } from './dom.ts'

/** Bounds the characters of an answer on the page. */
const maxAnswer = 160

/** The buttons. A click sends the command. */
export class Commands {
  #schema: Schema | undefined

  /** Shows the buttons for the schema of a client. */
  update(c: Client): void {
    if (c.schema === this.#schema) return
    this.#schema = c.schema
    const simple = c.schema.commands.filter((k) => k.args && k.args.fields.length === 0 && k.args.texts.length === 0)
    element('commands').hidden = simple.length === 0
    setText('result', '')
    element('simple').replaceChildren(
      ...simple.map(({ name }) => {
        const button = document.createElement('button')
        button.textContent = name
        button.onclick = () =>
          void c.do(name).then(
            (r) => setText('result', `${name}: ${said(r)}`),
            (e) => setText('result', String(e)),
          )
        return button
      }),
    )
  }
}

function said(r: Result): string {
  const answer = r.answer
    ? JSON.stringify(r.answer, (_, v) => (typeof v === 'bigint' ? String(v) : v)).slice(0, maxAnswer)
    : ''
  return printable([r.codeName, r.text, answer].filter(Boolean).join(' '))
}
