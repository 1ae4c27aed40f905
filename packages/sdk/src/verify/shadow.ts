import type { RefusalCode, Verdict } from './verdict.ts'

/** Where an old check and the keyring disagree, in requests since the keyring was made. */
export interface ShadowStats {
  /** Both accepted, or both refused. */
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
