// Properties that all bodies of a kind share.

/** The constants of all bodies of a kind: a schema's Body. */
export interface Kind {
  readonly inverseMass: number // 1/kg; 0 for kinematic bodies, which only their own velocity moves
  readonly coupling: number // share of the velocity difference to the wind removed per tick
  readonly radius: number // metres
  readonly friction: number
  readonly restitution: number
  readonly layers: number
}

/** Reports whether an effect with these layers acts on bodies of the kind. */
export function feels(k: Kind, layers: number): boolean {
  return k.inverseMass !== 0 && (layers === 0 || (layers & k.layers) !== 0)
}
