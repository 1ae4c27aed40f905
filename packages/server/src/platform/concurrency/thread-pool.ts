import type { Piscina } from 'piscina'

/** Threads that start when they are first needed. */
export interface ThreadPool {
  threads(): Promise<Piscina>
  close(): Promise<void>
}

/**
 * Opens threads again after they failed, or after they could not be opened.
 * @param failed gets the reason for which threads ended.
 */
export function openThreadPool(open: () => Promise<Piscina>, failed: (error: unknown) => void): ThreadPool {
  let opened: Promise<Piscina> | null = null
  const begin = () => {
    const forget = () => {
      if (opened === opening) opened = null
    }
    const opening = open().then(pool => {
      // If a thread ends before its first call, its callers would wait for ever unless the pool ends too.
      pool.on('error', error => {
        failed(error)
        forget()
        void pool.destroy()
      })
      return pool
    })
    opening.catch(forget)
    return opening
  }
  return {
    threads() {
      opened ??= begin()
      return opened
    },
    async close() {
      await (await opened?.catch(() => null))?.destroy()
    },
  }
}
