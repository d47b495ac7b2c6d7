// Whose page this is: {user, role, refused, editors}. The user is "" in a studio without logins. What a role permits is
// checked on the server; the page only says so. `refused` are the names of what it would refuse, `editors` of what it
// refuses while another person edits the project.
export const { user, role, refused, editors } = await fetch(new URL("../../account.json", import.meta.url))
  .then((response) => (response.ok ? response.json() : Promise.reject()))
  .catch(() => ({ user: "", role: "administer", refused: [], editors: [] }));

export const mayWork = ["work", "administer"].includes(role);
