// A program that plays the session of client/c/engines in C#, and prints what it sees, one line each.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Threading;
using PlotSchema;
using Worldd;

static class Program
{
    const int All = 42; // 40 stones and two players

    static readonly Stopwatch Clock = Stopwatch.StartNew();

    // What the program predicts of its player: a body that its input moves.
    [StructLayout(LayoutKind.Sequential)]
    struct Walk
    {
        public Body Body;
        public uint Steps;
    }

    const uint Sound = 7; // an effect

    static int calls, refused; // of the step function, and inside it

    static StepFunction<Walk, Input> Walker(Client client)
    {
        return (ref Walk walk, ref Input held, Step step) =>
        {
            if (calls++ == 0) throw new Exception("at first");
            walk.Steps++;
            try { client.Lookup(1); }
            catch (WorlddException e) { if (e.Result == Result.Busy) refused++; }
            walk.Body.Velocity.X = held.X;
            walk.Body.Velocity.Z = held.Z;
            walk.Body.Position.X += held.X / 60;
            walk.Body.Position.Z += held.Z / 60;
            if (step.Tick % 16 == 0) step.Effect(Sound);
        };
    }

    static int Main(string[] args)
    {
        if (args[0] == "layout") return PrintLayout();
        Mistakes(args[1]);
        var client = new Client(new ClientDef { Address = args[0], Fingerprint = args[1], Schema = Protocol.Schema, Name = "unity" });
        try { Play(client); }
        finally { client.Dispose(); }
        Throws(Result.BadClient, () => client.Update(0));
        Client.Shutdown();
        Console.WriteLine("end");
        return 0;
    }

    // The sizes and offsets of all structs of the generated file, for comparison with C's.
    static int PrintLayout()
    {
        foreach (Type t in typeof(Protocol).Assembly.GetTypes())
        {
            if (t.Namespace != "PlotSchema" || !t.IsValueType) continue;
            foreach (var f in t.GetFields(System.Reflection.BindingFlags.Instance | System.Reflection.BindingFlags.Public))
                Console.WriteLine("{0} {1} {2} {3}", t.Name, f.Name, Marshal.OffsetOf(t, f.Name), Marshal.SizeOf(f.FieldType));
            Console.WriteLine("{0} {1}", t.Name, Marshal.SizeOf(t));
        }
        return 0;
    }

    static void Mistakes(string fingerprint)
    {
        var e = Throws(Result.BadArgument, () => new Client(new ClientDef { Address = "nowhere", Fingerprint = fingerprint }));
        Console.WriteLine("mistake " + e.Message);
        Throws(Result.BadArgument, () => new Client(new ClientDef()));
    }

    static void Play(Client client)
    {
        ulong[] handles = null;
        var stones = new List<ulong>();
        ulong victim = 0;
        ulong seed = 0;
        uint asked = 0, planted = 0, held = 0;
        int effects = 0, thrown = 0;
        bool answered = false, destroyed = false, struck = false;
        Throws(Result.BadSize, () => client.Predict<Input, Input>(new[] { Components.Body }, (ref Input state, ref Input input, Step step) => { }));
        client.Predict(new[] { Components.Body }, Walker(client));
        Throws(Result.Refused, () => client.Predict(new[] { Components.Body }, Walker(client)));
        while (!(answered && destroyed && struck && planted != 0 && client.Lookup(seed) == Verdict.Live && client.Status.AppliedInput >= held && held != 0 && client.Prediction.Agreed >= 20 && effects > 0))
        {
            if (Clock.Elapsed.TotalSeconds > 60) throw new Exception("out of time: " + client.Status.State + " " + client.GetText(TextOf.Error));
            try
            {
                // Every second input is sent as bytes.
                uint tick = calls % 2 == 0 ? client.SetInput(new Input { X = 1, Z = -1 }) : client.SetRawInput(BytesOf(new Input { X = 1, Z = -1 }));
                if (held == 0) held = tick;
                if (!client.Update(Clock.Elapsed.TotalSeconds)) throw new Exception(client.GetText(TextOf.Error));
            }
            catch (InvalidOperationException failure)
            {
                if (failure.InnerException.Message != "at first") throw;
                thrown++;
            }
            Event e;
            while (client.Poll(out e))
            {
                switch (e.Type)
                {
                    case EventType.State:
                        Console.WriteLine("state {0} code {1} flags {2}", e.State, e.Code, e.Flags);
                        break;
                    case EventType.Enter:
                        Entity entity;
                        if (client.TryGet(e.Handle, out entity) && (entity.Components >> (int)Components.Sign & 1) != 0) stones.Add(e.Handle);
                        break;
                    case EventType.Effect:
                        if (e.Number == Sound && e.Tick % 16 == 0) effects++;
                        break;
                    case EventType.Destroy:
                        destroyed |= e.Handle == victim && e.Reason == 3;
                        break;
                    case EventType.Message:
                        struck |= e.Number == Events.Bell && client.Body<BellEvent>().Word.ToString() == "gone";
                        break;
                    case EventType.Result:
                        if (planted != 0 && e.Id == planted)
                        {
                            Console.WriteLine("planted {0} {1}", e.Code, client.Real(seed) != 0 && client.Real(seed) != seed ? Verdict.Live : Verdict.Stale);
                            break;
                        }
                        if (e.Id != asked) throw new Exception("an answer to " + e.Id);
                        Console.WriteLine("answer {0} verdict {1} {2}", e.Code, e.Verdict, client.Body<BreakAnswer>().Words);
                        Throws(Result.BadSize, () => client.Body<Input>());
                        answered = true;
                        seed = client.TakeProvisional();
                        var plant = new byte[9];
                        plant[0] = 0xcf; // msgpack: 64 bits, the highest first
                        for (int i = 0; i < 8; i++) plant[i + 1] = (byte)(seed >> 56 - 8 * i);
                        Throws(Result.Refused, () => client.DoRaw(Commands.Plant, 0, plant, client.Status.Controlled));
                        planted = client.DoRaw(Commands.Plant, 0, plant, seed);
                        break;
                }
            }
            double moment;
            if (asked == 0 && client.Render(out moment) && client.Entities(ref handles) == All)
            {
                Print(client, handles);
                stones.Sort();
                victim = stones[0];
                var who = new BreakArgs();
                who.Name.Set("Zoë");
                asked = client.Do(Commands.Break, victim, who);
                Console.WriteLine("victim {0:x16} {1}", victim, client.Lookup(victim));
            }
            Thread.Sleep(4);
        }
        Console.WriteLine("stale {0:x16} {1} controlled {2}", victim, client.Lookup(victim), client.Lookup(client.Status.Controlled));
        Walk drawn;
        PredictionStats p = client.Prediction;
        if (!client.ReadPredicted(When.Rendered, out drawn) || drawn.Body.Position.X <= 0 || drawn.Steps == 0 || refused == 0 || thrown != 1) throw new Exception("no prediction");
        Console.WriteLine("predicted {0} agreed {1} corrected {2} missed", p.Agreed, p.Corrected, p.Missed);
        Throws(Result.BadArgument, () => client.Find(Section.Component, "signs"));
        if (client.Find(Section.Component, "sign") != Components.Sign || client.FindField(Components.Sign, "Label") != SignFields.Label) throw new Exception("other numbers");
    }

    // Reads all entities in bulk: one field, and whole records.
    static void Print(Client client, ulong[] handles)
    {
        int n = All;
        var verdicts = new Verdict[n];
        var positions = new float[3 * n];
        var signs = new Sign[n];
        client.Lookup(handles, n, verdicts);
        if (Array.Exists(verdicts, v => v != Verdict.Live)) throw new Exception("an entity is not live");
        client.Read(Components.Body, BodyFields.Position, When.Newest, handles, n, positions, null);
        client.Read(Components.Sign, When.Newest, handles, n, signs, verdicts);
        for (int i = 0; i < n; i++)
        {
            if (verdicts[i] == Verdict.Lacking) continue;
            Sign s = signs[i], alone;
            if (client.Read(Components.Sign, When.Newest, handles[i], out alone) != Verdict.Live || alone.Rank != s.Rank) throw new Exception("records differ");
            Console.WriteLine("row {0:x16} {1:x8} {2:x8} {3:x8} {4} {5:x16} {6} {7} {8:x8} {9} {10}", handles[i],
                Bits(positions[3 * i]), Bits(positions[3 * i + 1]), Bits(positions[3 * i + 2]),
                s.Rank, s.Friend, s.Lit, s.Marks[2], Bits(s.Facing.W), s.Label, BitConverter.ToString(s.Data.ToArray(s.DataSize)));
        }
        try
        {
            client.Read(Components.Body, BodyFields.Position, When.Newest, handles, n, new float[n], null);
            throw new Exception("an array that is too small was written");
        }
        catch (ArgumentException) { }
    }

    static byte[] BytesOf(Input input)
    {
        var bytes = new byte[Marshal.SizeOf(typeof(Input))];
        GCHandle pinned = GCHandle.Alloc(bytes, GCHandleType.Pinned);
        Marshal.StructureToPtr(input, pinned.AddrOfPinnedObject(), false);
        pinned.Free();
        return bytes;
    }

    static uint Bits(float v) { return BitConverter.ToUInt32(BitConverter.GetBytes(v), 0); }

    static WorlddException Throws(Result want, Action call)
    {
        try { call(); }
        catch (WorlddException e)
        {
            if (e.Result == want) return e;
            throw;
        }
        throw new Exception("no exception, want " + want);
    }
}
