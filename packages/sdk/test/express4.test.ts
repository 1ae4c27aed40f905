// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import { expressApi, expressGate } from './express-api.ts'
import { testGate } from './gate-suite.ts'
import { testProtectedApi } from './protected-api.ts'

await testProtectedApi('Express 4', expressApi(express4))
testGate('Express 4', expressGate(express4))
