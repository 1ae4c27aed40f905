import { Networks } from '../store/networks.ts'
import type { Store } from '../store/store.ts'

/** Networks as a header of a disk snapshot has them. */
export interface SavedNetworks {
  /** Each list once, as the feed sent it. Others name it by its place here. */
  lists: readonly (readonly string[])[]
  /** The list of each key that has one of its own, by the position of its record. */
  keys: readonly (readonly [position: number, list: number])[]
  /** The list of each tenant that has one; null: it cannot be read, so that no address is allowed. */
  tenants: readonly (readonly [tenantId: string, list: number | null])[]
}

export function saveNetworks({ records, tenantNetworks }: Store): SavedNetworks {
  const lists = records.shared.networks.values.map(({ texts }) => texts ?? [])
  const places = new Map(lists.map((list, place) => [list.join(), place]))
  const tenants = Array.from(tenantNetworks, ([id, { texts }]): [string, number | null] => {
    if (texts === null) return [id, null]
    const text = texts.join()
    const place = places.get(text) ?? lists.push(texts) - 1
    places.set(text, place)
    return [id, place]
  })
  return { lists, keys: records.ownNetworks(), tenants }
}

/** @param records how many records the file has */
export function isSavedNetworks(value: unknown, records: number): value is SavedNetworks {
  const { lists, keys, tenants } = (value ?? {}) as Partial<SavedNetworks>
  if (!Array.isArray(lists) || !Array.isArray(keys) || !Array.isArray(tenants)) return false
  const isPlace = (place: unknown): place is number => isBelow(place, lists.length)
  return (
    areDifferent(lists) &&
    keys.every(entry => isBelow(entry?.[0], records) && isPlace(entry[1])) &&
    // An empty list of a tenant would be none.
    tenants.every(
      entry =>
        typeof entry?.[0] === 'string' &&
        (entry[1] === null || (isPlace(entry[1]) && !readSaved(lists[entry[1]]).isEmpty)),
    )
  )
}

const isBelow = (value: unknown, end: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < end

/** Equal lists, which no writer writes, would shift all that follow. */
const areDifferent = (lists: readonly unknown[]): boolean =>
  lists.every(list => Networks.read(list) !== undefined) &&
  new Set(lists.map(list => (list as string[]).join())).size === lists.length

export const readSaved = (list: unknown): Networks => Networks.read(list) ?? Networks.unreadable

export const tenantNetworksIn = ({
  lists,
  tenants,
}: SavedNetworks): [tenantId: string, networks: Networks][] =>
  tenants.map(([id, place]) => [id, place === null ? Networks.unreadable : readSaved(lists[place])])
