// The nodes of the server's cluster, and their rooms.

import { printable } from '../src/index.ts'
import type { Admin } from './admin.ts'
import { element, fillTable, setText } from './dom.ts'

/** Bounds the nodes on the page, and the rooms that each names. */
const maxNodes = 50
const maxNames = 8
/** After so many seconds without a renewal a node may have failed. */
const silent = 2.5

/** The part of GET /cluster that the page shows. */
export interface ClusterInfo {
  readonly node: string
  readonly lease_margin_seconds: number
  readonly trouble?: string
  readonly frozen_rooms: number
  readonly nodes: readonly {
    readonly name: string
    readonly dead: boolean
    readonly silent_seconds: number
    readonly rooms: readonly string[]
  }[]
  readonly stored_rooms: readonly string[]
}

/** Returns the number of rooms, and the first names. */
function listed(names: readonly string[]): string {
  if (names.length === 0) return '0'
  const more = names.length - maxNames
  return `${names.length}: ${names.slice(0, maxNames).map(printable).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Returns a row for each node: its name, state and rooms. */
export function rowsOf(c: ClusterInfo): string[][] {
  const rows = c.nodes.slice(0, maxNodes).map((n) => {
    const state = n.dead ? 'dead' : n.silent_seconds > silent ? `silent for ${n.silent_seconds.toFixed(0)} s` : 'alive'
    const name = printable(n.name) + (n.name === c.node ? ' (this one)' : '')
    return [name, state, listed(n.rooms)]
  })
  if (c.nodes.length > maxNodes) rows.push([`${c.nodes.length - maxNodes} more nodes`, '', ''])
  if (c.stored_rooms.length > 0) rows.push(['stored, on no node', '', listed(c.stored_rooms)])
  return rows
}

/** Returns how long this node's rooms may run, or why they stand still. */
export function leaseOf(c: ClusterInfo): string {
  const frozen = c.frozen_rooms > 0 ? ` ${c.frozen_rooms} rooms stand still.` : ''
  return c.trouble
    ? c.trouble + frozen
    : `The rooms of this node may run for ${c.lease_margin_seconds.toFixed(1)} s more.`
}

/** Shows the cluster, if the server is a node of one. */
export class Cluster {
  #none = false

  async refresh(admin: Admin): Promise<void> {
    if (this.#none) return
    const answer = await admin.ask('/cluster')
    this.#none = answer.status === 404
    if (!answer.ok) {
      element('cluster').hidden = true
      return
    }
    const c: ClusterInfo = await answer.json()
    setText('lease', leaseOf(c))
    element('lease').classList.toggle('bad', c.trouble !== undefined)
    fillTable('nodes', rowsOf(c))
    element('cluster').hidden = false
  }
}
