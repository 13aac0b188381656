// Loaded before the tests (bunfig.toml): removes their temporary directories afterwards.
import { afterAll } from "bun:test";
import { removeTemporaryDirectories } from "./temporary-directory.ts";

afterAll(removeTemporaryDirectories);
