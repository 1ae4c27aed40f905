import type { Catalogue } from './words.js';
export declare const pt: Catalogue;
