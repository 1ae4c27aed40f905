export {
  createTestIdempotency,
  createTestLimiter,
  createTestUsage,
  type TestIdempotency,
  type TestLimiter,
  type TestOptions,
  type TestUsage,
} from './testing/doubles.ts'
export { createTestKeyrail, type TestKeyrail, type TestKeyrailOptions } from './testing/keyrail.ts'
export {
  createTestKeyring,
  type TestKey,
  type TestKeyOptions,
  type TestKeyring,
  type TestKeyringOptions,
} from './testing/keyring.ts'
export type { TestService } from './testing/service.ts'
