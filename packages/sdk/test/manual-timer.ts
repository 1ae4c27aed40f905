import type { Timer } from '../src/runtime/timer.ts'

/** A timer that a test advances. */
export class ManualTimer implements Timer {
  #now = 0
  #waiting: { due: number; work: () => void }[] = []

  after(milliseconds: number, work: () => void): () => void {
    const entry = { due: this.#now + milliseconds, work }
    this.#waiting.push(entry)
    return () => {
      this.#waiting = this.#waiting.filter(each => each !== entry)
    }
  }

  /** The pending delays in ms. */
  get delays(): number[] {
    return this.#waiting.map(({ due }) => due - this.#now).toSorted((one, other) => one - other)
  }

  pass(milliseconds: number): void {
    this.#now += milliseconds
    const due = this.#waiting.filter(each => each.due <= this.#now)
    this.#waiting = this.#waiting.filter(each => each.due > this.#now)
    for (const { work } of due) work()
  }
}
