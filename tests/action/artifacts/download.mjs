import { join } from "node:path";
import { DefaultArtifactClient } from "@actions/artifact";
import * as core from "@actions/core";

process.env.GITHUB_SERVER_URL = "https://github.com"; // the client refuses servers that are not GitHub's own

const escaped = (text) => text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
const pattern = core.getInput("pattern", { required: true }).split("*").map(escaped).join(".*");
const client = new DefaultArtifactClient();
const { artifacts } = await client.listArtifacts({ latest: true });
for (const { id, name } of artifacts.filter((one) => new RegExp(`^${pattern}$`).test(one.name))) {
  await client.downloadArtifact(id, { path: join(core.getInput("path", { required: true }), name) });
}
