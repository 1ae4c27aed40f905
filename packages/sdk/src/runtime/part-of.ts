/** A part may be given itself, or as the `Keyrail` that has it. */
export type OfWhole<Name extends string, Part> = Part | { readonly [Each in Name]: Part }

/** The part itself. What is neither is returned as it is, for the check of its taker. */
export const partOf = <Name extends string, Part>(given: OfWhole<Name, Part>, name: Name): Part =>
  isWhole(given, name) ? (given as { [Each in Name]: Part })[name] : (given as Part)

/** Whether a `Keyrail` was given. Does not make the part. */
export const isWhole = (given: unknown, name: string): boolean =>
  typeof given === 'object' && given !== null && name in given
