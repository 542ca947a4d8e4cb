// Requests to the admin port, which serves this page.

import type { Message } from './message.ts'

/** The server does not answer. */
export class ServerGone extends Error {
  override readonly name = 'ServerGone'
}

/** Sends requests with the operator's token, which it keeps in memory only. */
export class Admin {
  #token = ''

  /** Sets the operator's token. */
  accept(token: string): void {
    this.#token = token
  }

  get hasToken(): boolean {
    return this.#token !== ''
  }

  /** Sends a request. It rejects with ServerGone if there is no answer. */
  async ask(path: string, method: 'GET' | 'POST' = 'GET'): Promise<Response> {
    try {
      return await fetch(path, {
        method,
        cache: 'no-store',
        headers: this.hasToken ? { Authorization: `Bearer ${this.#token}` } : {},
      })
    } catch (cause) {
      throw new ServerGone(`The server at ${location.host} does not answer. Is it running?`, { cause })
    }
  }

  /** Returns the answer to a GET. It rejects with the port's error text if the answer is no success. */
  async get(path: string): Promise<Response> {
    const answer = await this.ask(path)
    if (!answer.ok) throw new Error(await textOf(answer))
    return answer
  }
}

/** Returns the answer to a GET, for which it asks for the operator's token if the port requires it. */
export async function getAuthorized(admin: Admin, message: Message, path: string): Promise<Response> {
  for (;;) {
    const answer = await admin.ask(path)
    if (answer.status !== 401) return answer
    admin.accept(
      await message.ask(
        admin.hasToken ? 'The port does not accept this token.' : "This page requires the operator's token.",
        "the operator's token",
      ),
    )
  }
}

/** Returns the port's error text in an answer. */
export async function textOf(answer: Response): Promise<string> {
  return (await answer.text()).trim() || `${answer.status} ${answer.statusText}`
}
