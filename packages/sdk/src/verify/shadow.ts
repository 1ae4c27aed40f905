import type { RefusalCode, Verdict } from './verdict.ts'

/** Where an old check and the keyring disagree, in requests since the keyring was made. */
export interface ShadowStats {
  /** Both accepted, or both refused a key. */
  agreed: number
  /** The old check accepted and the keyring refuses, by the code of the verdict. */
  refusedHere: Partial<Record<RefusalCode, number>>
  /** The old check refused and the keyring accepts. */
  acceptedHere: number
}

/** Counts the verdicts of a keyring beside those of an old check. Bounded: it knows no keys. */
export class Shadow {
  #agreed = 0
  #acceptedHere = 0
  readonly #refusedHere = new Map<RefusalCode, number>()

  compare(verdict: Verdict, accepted: boolean): void {
    if (saysNothing(verdict, accepted)) return
    // Programs without types may hand over what their check found.
    if (verdict.valid === Boolean(accepted)) this.#agreed++
    else if (verdict.valid) this.#acceptedHere++
    else this.#refusedHere.set(verdict.code, (this.#refusedHere.get(verdict.code) ?? 0) + 1)
  }

  get stats(): ShadowStats {
    return {
      agreed: this.#agreed,
      refusedHere: Object.fromEntries(this.#refusedHere),
      acceptedHere: this.#acceptedHere,
    }
  }
}

/** Whether both refuse a request without a key, of which any number would make the share of the agreed look good. */
export const saysNothing = (verdict: Verdict, accepted: boolean): boolean =>
  !accepted && !verdict.valid && verdict.code === 'missing_key'
