// Messages over the page.

import { element } from './dom.ts'

/** Covers the page's picture with a message for the player or the operator. */
export class Message {
  readonly #box = element('message')
  readonly #text = element('text')
  readonly #more = element('more')
  readonly #form = element<HTMLFormElement>('answer')
  readonly #field = element<HTMLInputElement>('token')
  readonly #button = element<HTMLButtonElement>('go')

  /** Shows text, and what follows from it in smaller letters. */
  show(text: string, more = ''): void {
    this.#text.textContent = text
    this.#more.textContent = more
    this.#form.hidden = true
    this.#box.hidden = false
  }

  hide(): void {
    this.#box.hidden = true
  }

  /** Shows text until the player presses the button. */
  confirm(text: string, button: string): Promise<void> {
    this.show(text)
    this.#form.hidden = false
    this.#field.hidden = true
    this.#button.textContent = button
    return this.#submitted()
  }

  /** Returns the secret that the player enters. what is its label. */
  async ask(text: string, what: string): Promise<string> {
    this.show(text)
    this.#field.placeholder = this.#field.ariaLabel = what
    this.#form.hidden = this.#field.hidden = false
    this.#button.textContent = 'Continue'
    await this.#submitted()
    const secret = this.#field.value.trim()
    this.#field.value = ''
    this.show('Joining …')
    return secret
  }

  #submitted(): Promise<void> {
    return new Promise((resolve) => {
      this.#form.onsubmit = (e) => {
        e.preventDefault()
        resolve()
      }
    })
  }
}
