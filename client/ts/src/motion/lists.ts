// Lists without allocation.

/** Removes the elements for which keep returns false. */
export function keepIf<T>(list: T[], keep: (x: T) => boolean): void {
  let n = 0
  for (const x of list) if (keep(x)) list[n++] = x
  list.length = n
}
