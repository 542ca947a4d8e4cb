// The page of a recording: shows each of its ticks from above.

import { formatHandle, type Handle, none, parseSchema, printable, type Schema } from '../src/index.ts'
import { Camera } from './camera.ts'
import { element, setText } from './dom.ts'
import { Frame } from './frame.ts'
import { Held } from './held.ts'
import { Legend } from './legend.ts'
import { Minimap } from './minimap.ts'
import { Stick } from './stick.ts'
import { clockOf, type Recording, Timeline } from './timeline.ts'
import { View } from './view.ts'

/** Returns an answer of the server. It rejects with the server's text. */
async function get(path: string): Promise<Response> {
  const answer = await fetch(path, { cache: 'no-store' }).catch((cause) => {
    throw new Error(`The program at ${location.host} does not answer. Is it running?`, { cause })
  })
  if (!answer.ok) throw new Error((await answer.text()).trim())
  return answer
}

/** Shows a recording. */
class Player {
  readonly #schema: Schema
  readonly #recording: Recording
  readonly #timeline: Timeline
  readonly #held: Held
  readonly #legend: Legend
  readonly #view: View
  readonly #camera = new Camera()
  readonly #map = new Minimap(this.#camera)
  #frame: Frame | undefined
  #followed: Handle = none
  #shown = '' // the query of the newest frame
  #asking = false

  constructor(recording: Recording) {
    this.#recording = recording
    this.#schema = parseSchema(recording.schema)
    this.#timeline = new Timeline(recording)
    this.#held = new Held((h) => this.#follow(h))
    const never = new AbortController().signal
    const canvas = element<HTMLCanvasElement>('world')
    this.#view = new View(canvas, this.#camera)
    new Stick(
      canvas,
      this.#camera,
      {
        pick: (x, y) => this.#hold(this.#frame && this.#view.pick(this.#frame, x, y), true),
        pickNearest: () =>
          this.#hold(this.#frame && this.#view.nearest(this.#frame, undefined, this.#held.handles), true),
      },
      never,
    )
    this.#legend = new Legend((kind) =>
      this.#hold(this.#frame && this.#view.nearest(this.#frame, kind, this.#held.handles)),
    )
    element('unfollow').onclick = () => this.#follow(none)
    this.#describe()
    this.#follow(none)
  }

  /** Shows what the recording is, and how it compares. */
  #describe(): void {
    const r = this.#recording
    document.title = `${r.file} · ${r.game} replay`
    setText('game', `${r.game} replay`)
    setText('file', printable(r.file))
    setText('ticks', `${r.first.toLocaleString('en')} to ${r.last.toLocaleString('en')}`)
    setText('length', clockOf((r.last - r.first) / r.tick_hz))
    setText('compared', r.compared)
    setText('late', r.lateness)
    setText('verdict', printable(r.end))
    element('verdict').classList.toggle('bad', r.differs.length > 0)
    const go = element('differs')
    go.hidden = r.differs.length === 0
    go.onclick = () => this.#timeline.seek(r.last)
    element('changes').replaceChildren(
      ...r.changes.map((change) => {
        const item = document.createElement('li')
        item.textContent = printable(change)
        return item
      }),
    )
    element('full').hidden = !r.full
  }

  #hold(h: Handle | undefined, inspects = false): void {
    if (h !== undefined) this.#held.hold(h, inspects)
  }

  #follow(h: Handle): void {
    this.#followed = this.#timeline.followed = h
    setText('followed', h === none ? '' : `Following ${formatHandle(h)}. `)
    element('following').hidden = h === none
    if (h !== none) this.#camera.goBack()
    if (this.#frame) this.#frame.followed = h
  }

  /** Shows a picture, and asks for the next tick if it is due. */
  show(now: number): void {
    const tick = this.#timeline.advance(now)
    void this.#ask(tick)
    const frame = this.#frame
    if (!frame) return
    const seen = this.#view.draw(frame, this.#held.handles)
    this.#map.draw(frame, now)
    this.#held.update(frame)
    this.#held.sample(frame)
    this.#legend.show(this.#schema, seen.kinds)
    setText('awake', seen.looks.awake)
    setText('asleep', seen.looks.asleep)
    this.#timeline.show(frame.tick)
  }

  /** Fetches the frame of a tick, unless it is shown or another is under way. */
  async #ask(tick: number): Promise<void> {
    const grid = this.#view.grid
    const query = new URLSearchParams({
      tick: String(tick),
      held: [...this.#held.handles.keys()].map(formatHandle).join(),
      arrows: [grid.x, grid.z, grid.step, grid.columns, grid.rows].join(),
    }).toString()
    if (this.#asking || query === this.#shown) return
    this.#asking = true
    try {
      const body = await (await get(`recording/frame?${query}`)).arrayBuffer()
      this.#frame = new Frame(this.#schema, body, grid)
      this.#frame.followed = this.#followed
      this.#shown = query
      setText('trouble', '')
    } catch (e) {
      setText('trouble', e instanceof Error ? e.message : String(e))
      await new Promise((resolve) => setTimeout(resolve, 1000))
    } finally {
      this.#asking = false
    }
  }
}

async function main(): Promise<void> {
  try {
    const player = new Player(await (await get('recording/info')).json())
    document.body.classList.add('joined')
    const show = (now: number): void => {
      player.show(now)
      requestAnimationFrame(show)
    }
    requestAnimationFrame(show)
  } catch (e) {
    setText('trouble', e instanceof Error ? e.message : String(e))
  }
}

void main()
