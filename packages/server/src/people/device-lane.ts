import { networkOf } from '../platform/network/client-network.ts'
import type { Refusal } from '../platform/refusal.ts'
import type { PeopleNeeds } from './needs.ts'

/**
 * A browser or a program that has signed in to an account before has a queue and a count of failures of its own; all others of
 * a network share one. So a stranger in the same network, or behind the same proxy, cannot keep the owner of an account out.
 *
 * A device token names the device to the account that it signed in to. It grants nothing but this queue.
 */
export interface Device {
  readonly id: string
  /** Whether the device has signed in with the account's password in the last 90 days, and is among the ten newest. */
  readonly isKnown: boolean
}

const list = 'devices'
const knownForMs = 90 * 24 * 3_600_000
type Needs = Pick<PeopleNeeds, 'cursors' | 'clock' | 'makeId'>

/**
 * @param token as given; a token that is forged, too old, ended, or of another account counts as none.
 * @param live the devices of the account.
 */
export function readDevice(
  { cursors, clock, makeId }: Needs,
  address: string,
  token: string | undefined,
  live: readonly string[],
): Device {
  const [id = '', signedInAt = ''] = (token === undefined ? null : opened(cursors, address, token)) ?? []
  const isKnown = live.includes(id) && clock.now() - Number(signedInAt) <= knownForMs
  return isKnown ? { id, isKnown } : { id: makeId(), isKnown }
}

function opened(cursors: Needs['cursors'], address: string, token: string): string[] | null {
  try {
    return cursors.open(list, address, token).split(' ')
  } catch (error) {
    if ((error as Refusal).code !== 'validation_failed') throw error
    return null
  }
}

/** The token for the next sign-in. */
export const deviceToken = ({ cursors, clock }: Needs, address: string, { id }: Device): string =>
  cursors.seal(list, address, `${id} ${clock.now()}`)

/** The name under which an attempt waits and its failures count. */
export const laneOf = (device: Device, ip: string): string =>
  device.isKnown ? `device ${device.id}` : networkOf(ip)

/** The name under which failures of a signed-in person count, separate from failures of strangers in the network. */
export const laneOfPerson = (userId: string): string => `person ${userId}`
