import { testHeldBodies } from './held-requests.ts'

testHeldBodies(1)
