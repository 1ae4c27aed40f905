import { deviceStorage, tabStorage } from './storage.ts'

/**
 * The token of the session, without a cookie. It is in the storage of this tab, or of this device when the person asked
 * for that. A new tab asks the others for it, so that a link that opens in a new tab is signed in.
 */

export interface HeldSession {
  readonly token: string
  readonly userId: string
}

type Message = { type: 'ask' } | { type: 'started'; session: HeldSession } | { type: 'ended' }

const storageKey = 'keyrail.session'
/** Another tab answers within a few milliseconds. No answer within this time: no other tab is signed in. */
const answerWithinMs = 250

let held: HeldSession | null = null
/** Whose data this page may hold. */
let shownUserId: string | null = null

/** Before data of the signed-in person is asked for: from now on a session of another person starts the page again. */
export function showPerson(): void {
  shownUserId ??= held?.userId ?? null
}

const listeners = new Set<() => void>()
/** A browser that denies storage may deny this too. The tab is then alone. */
const channel = ((): Pick<BroadcastChannel, 'postMessage' | 'addEventListener'> => {
  try {
    return new BroadcastChannel('keyrail.session')
  } catch {
    return Object.assign(new EventTarget(), { postMessage() {} })
  }
})()

export const currentToken = (): string | null => held?.token ?? null

/** @returns a function that ends it */
export function onToken(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function set(next: HeldSession | null): void {
  // The page may hold what another person may not see, so it starts again.
  const isOther = next !== null && shownUserId !== null && next.userId !== shownUserId
  if (next?.token !== held?.token) {
    held = next
    if (!isOther) for (const listener of [...listeners]) listener()
  }
  if (isOther) location.assign('/app/')
}

/** Signs this tab in, and the others that wait for it. */
export function startSession(session: HeldSession, { keep }: { keep: boolean }): void {
  deviceStorage.removeItem(storageKey)
  const text = JSON.stringify(session)
  tabStorage.setItem(storageKey, text)
  if (keep) deviceStorage.setItem(storageKey, text)
  set(session)
  channel.postMessage({ type: 'started', session } satisfies Message)
}

/** Signs out every tab of this device. */
export function endSession(): void {
  forget()
  channel.postMessage({ type: 'ended' } satisfies Message)
}

function forget(): void {
  tabStorage.removeItem(storageKey)
  deviceStorage.removeItem(storageKey)
  set(null)
}

/** Finds the token in this tab, on this device, or in another tab. Call it once, before the first request. */
export async function findToken(): Promise<void> {
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => receive(data))
  const stored = parse(tabStorage.getItem(storageKey) ?? deviceStorage.getItem(storageKey))
  if (stored !== null) {
    set(stored)
    return
  }
  const answered = new Promise<void>(resolve => {
    const stop = onToken(() => {
      stop()
      resolve()
    })
    setTimeout(resolve, answerWithinMs)
  })
  channel.postMessage({ type: 'ask' } satisfies Message)
  await answered
}

function parse(text: string | null): HeldSession | null {
  try {
    const value = JSON.parse(text ?? 'null')
    return typeof value?.token === 'string' && typeof value.userId === 'string' ? value : null
  } catch {
    return null
  }
}

function receive(message: Message): void {
  if (message.type === 'ask') {
    if (held !== null) channel.postMessage({ type: 'started', session: held } satisfies Message)
  } else if (message.type === 'ended') forget()
  else {
    tabStorage.setItem(storageKey, JSON.stringify(message.session))
    set(message.session)
  }
}
