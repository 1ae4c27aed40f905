/**
 * The storage of this tab and of this device. A browser that blocks cookies and site data denies it: the page then goes on with its own
 * memory, and forgets with it.
 */
interface TextStorage {
  getItem(name: string): string | null
  setItem(name: string, text: string): void
  removeItem(name: string): void
}

function open(kind: 'sessionStorage' | 'localStorage'): TextStorage {
  const memory = new Map<string, string>()
  /** A storage may be there and still refuse, for example when it is full. */
  function attempt<T>(use: (storage: Storage) => T): T | undefined {
    try {
      return use(globalThis[kind])
    } catch {
      return undefined
    }
  }
  return {
    getItem: name => memory.get(name) ?? attempt(storage => storage.getItem(name)) ?? null,
    setItem(name, text) {
      memory.delete(name)
      attempt(storage => storage.setItem(name, text))
      if (attempt(storage => storage.getItem(name)) !== text) memory.set(name, text)
    },
    removeItem(name) {
      memory.delete(name)
      attempt(storage => storage.removeItem(name))
    },
  }
}

export const tabStorage = open('sessionStorage')
export const deviceStorage = open('localStorage')

/** Whether the browser denies both. */
export const isStorageDenied = ((): boolean => {
  try {
    return globalThis.sessionStorage === null || globalThis.localStorage === null
  } catch {
    return true
  }
})()
