// Asks before something is done that cannot be undone.

import { element, setText } from './dom.ts'

/** The page's dialog. */
export class Confirmation {
  readonly #dialog = element<HTMLDialogElement>('confirmation')
  readonly #reason = element<HTMLInputElement>('reason')
  // Answers the question that is asked. The event close would come too late for a question that follows at once.
  #answer: (reason: string | undefined) => void = () => {}

  constructor() {
    this.#dialog.oncancel = () => this.#answer(undefined) // by Escape
    element('cancel').onclick = () => this.#settle(undefined)
    element<HTMLFormElement>('confirm').onsubmit = (e) => {
      e.preventDefault()
      this.#settle(this.#reason.value.trim())
    }
  }

  /**
   * Asks a question, and returns undefined unless the operator presses the button verb. It returns the reason that the
   * operator gives, if wantsReason.
   */
  ask(question: string, verb: string, wantsReason = false): Promise<string | undefined> {
    setText('question', question)
    setText('confirmed', verb)
    this.#reason.value = ''
    this.#reason.hidden = !wantsReason
    this.#dialog.showModal()
    return new Promise((resolve) => {
      this.#answer = resolve
    })
  }

  #settle(reason: string | undefined): void {
    this.#dialog.close()
    this.#answer(reason)
  }
}
