import type { Resource } from './bench.ts'

/** Closes everything that a run opened, the last one first, each even if one before it fails. */
export class Resources {
  readonly #open: Resource[] = []
  #closed = false

  async use<T extends Resource>(opening: T | Promise<T>): Promise<T> {
    const resource = await opening
    if (this.#closed) {
      // The run was interrupted while this was starting.
      await resource.close()
      throw new Error('the run is over')
    }
    this.#open.push(resource)
    return resource
  }

  /** @throws AggregateError of every failed close */
  async close(): Promise<void> {
    this.#closed = true
    const errors: unknown[] = []
    for (let resource = this.#open.pop(); resource; resource = this.#open.pop()) {
      try {
        await resource.close()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'not everything could be closed')
  }
}
