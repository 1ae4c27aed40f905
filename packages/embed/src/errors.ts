/** The errors of the service. The build writes these types out, as it does those of `types.ts`. */
export type { ErrorCode, FieldFault, Problem } from '@keyrail/contract/errors'
