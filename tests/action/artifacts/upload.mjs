import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DefaultArtifactClient } from "@actions/artifact";
import * as core from "@actions/core";

process.env.GITHUB_SERVER_URL = "https://github.com"; // the client refuses servers that are not GitHub's own

const shown = (path) => readdirSync(path).filter((name) => !name.startsWith("."));
const filesIn = (path) =>
  statSync(path).isDirectory() ? shown(path).flatMap((name) => filesIn(join(path, name))) : [path];

const path = core.getInput("path", { required: true });
const files = filesIn(path);
if (files.length > 0) {
  const root = statSync(path).isDirectory() ? path : dirname(path);
  await new DefaultArtifactClient().uploadArtifact(core.getInput("name", { required: true }), files, root);
} else if (core.getInput("if-no-files-found") === "error") {
  core.setFailed(`no file in ${path}`);
}
