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
export { createTestKeyring, type TestKeyring } from './testing/keyring.ts'
export type { TestKeyringOptions } from './testing/keyring-options.ts'
export type { TestService } from './testing/service.ts'
export type { TestKey, TestKeyOptions } from './testing/test-key.ts'
