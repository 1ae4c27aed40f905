/** The state of a project's feed. */
export interface PolicyHead {
  version: number
  /** The lowest version that a delta can start from. */
  floor: number
  deleted: boolean
  /** Whether the project has keys of any form. */
  imports: boolean
}

/** The head of a project that a poll's look-up reads together with the secret key; null: the workspace has no such project. */
export interface ReadHead {
  /** In lower case. */
  readonly projectId: string
  readonly head: PolicyHead | null
}
