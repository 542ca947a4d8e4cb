using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Worldd
{
    /// <summary>
    /// A client of a worldd server. It belongs to one thread at a time. A picture of a game: SetInput, Update, Poll until it returns
    /// false, Render, then bulk reads. Calls that fail throw WorlddException.
    /// </summary>
    public sealed class Client : IDisposable
    {
        const uint Major = 0, Minor = 4; // of worldd.h

        Native.Id id;
        byte[] body = new byte[4096]; // of the event that was polled
        int bodySize;
        Predictor predictor; // null: Predict was not called

        /// <summary>Begins to connect; events of type State say how that proceeds.</summary>
        public Client(ClientDef def)
        {
            uint version = Native.wd_version();
            if (version / 1000000 != Major || version / 1000 % 1000 < Minor)
                throw new WorlddException(Result.BadArgument, "the library libworldd has version " + version + ", another than this package: build both from one commit");
            var texts = new List<IntPtr>();
            var token = new Pin(def.Token);
            try
            {
                var d = new Native.Def
                {
                    Size = (uint)Marshal.SizeOf(typeof(Native.Def)), Flags = (uint)def.Flags,
                    Address = Unmanaged(def.Address, texts), MoreAddresses = Unmanaged(def.MoreAddresses, texts), Fingerprint = Unmanaged(def.Fingerprint, texts),
                    Schema = Unmanaged(def.Schema, texts), Name = Unmanaged(def.Name, texts), Room = Unmanaged(def.Room, texts),
                    Version = Unmanaged(def.Version, texts), MinServer = Unmanaged(def.MinServer, texts),
                    Token = token.Address, TokenSize = (UIntPtr)(def.Token == null ? 0 : def.Token.Length),
                    Epoch = def.Epoch, GiveUp = def.GiveUp, MaxBytes = def.MaxBytes, MaxEntities = def.MaxEntities, MaxEvents = def.MaxEvents
                };
                var error = new byte[1024];
                var result = (Result)Native.wd_create_client(ref d, out id, error, (UIntPtr)error.Length);
                if (result != Result.Ok) throw new WorlddException(result, Text(error));
            }
            finally
            {
                token.Dispose();
                foreach (IntPtr text in texts) Marshal.FreeHGlobal(text);
            }
        }

        /// <summary>Ends the session. Other calls then throw with Result.BadClient.</summary>
        public void Dispose()
        {
            if ((Result)Native.wd_destroy_client(id) == Result.Busy || predictor == null) return;
            predictor.Dispose();
            predictor = null;
        }

        /// <summary>Destroys all clients and waits, for less than a second, until the servers have heard of it. Call it before the
        /// process ends, and before an editor reloads its scripts.</summary>
        public static void Shutdown() { Native.wd_shutdown(); }

        /// <summary>Applies what has arrived. Call it once per picture, with its time in seconds. It returns false once the client
        /// has ended: GetText(TextOf.Error) says why.</summary>
        public bool Update(double now)
        {
            var result = (Result)Native.wd_update(id, now);
            RethrowStep();
            if (result == Result.Ended) return false;
            Check(result);
            return true;
        }

        public Status Status
        {
            get
            {
                var s = new Status { Size = (uint)Marshal.SizeOf(typeof(Status)) };
                Check(Native.wd_get_status(id, ref s));
                return s;
            }
        }

        public string GetText(TextOf which)
        {
            var buffer = new byte[512];
            var length = (int)Native.wd_text(id, (int)which, buffer, (UIntPtr)buffer.Length);
            if (length >= buffer.Length)
            {
                buffer = new byte[length + 1];
                Native.wd_text(id, (int)which, buffer, (UIntPtr)buffer.Length);
            }
            return Text(buffer);
        }

        /// <summary>Takes the oldest waiting event. It returns false if there is none.</summary>
        public bool Poll(out Event e)
        {
            e = new Event { Size = (uint)Marshal.SizeOf(typeof(Event)) };
            var result = (Result)Native.wd_poll_event(id, ref e, body, (UIntPtr)body.Length);
            if (result == Result.BadSize && e.BodySize > (ulong)body.Length)
            {
                body = new byte[e.BodySize];
                result = (Result)Native.wd_poll_event(id, ref e, body, (UIntPtr)body.Length);
            }
            bodySize = result == Result.Ok ? (int)e.BodySize : 0;
            if (result == Result.None) return false;
            Check(result);
            return true;
        }

        /// <summary>The body of the event that Poll returned last: a struct that `schema --lang cs` has written.</summary>
        public T Body<T>() where T : struct
        {
            if (bodySize != Record<T>.Size)
                throw new WorlddException(Result.BadSize, "the event has a body of " + bodySize + " bytes, " + typeof(T) + " has " + Record<T>.Size);
            using (var to = new Pin(Record<T>.One)) Marshal.Copy(body, 0, to.Address, bodySize);
            return Record<T>.One[0];
        }

        /// <summary>Sets the moment to show in this picture. It returns false before the first snapshots.</summary>
        public bool Render(out double tick)
        {
            var result = (Result)Native.wd_render(id, out tick);
            if (result == Result.NotJoined) return false;
            Check(result);
            return true;
        }

        public Verdict Lookup(ulong handle)
        {
            int verdict = Native.wd_lookup(id, handle);
            Check(verdict);
            return (Verdict)verdict;
        }

        public void Lookup(ulong[] handles, int n, Verdict[] verdicts)
        {
            Hold(handles, n, verdicts, 1);
            using (var from = new Pin(handles)) using (var to = new Pin(verdicts)) Lookup(from.Address, n, to.Address);
        }

        /// <summary>Lookup for memory of the caller, such as native arrays.</summary>
        public void Lookup(IntPtr handles, int n, IntPtr verdicts) { Check(Native.wd_lookup_many(id, handles, (UIntPtr)n, verdicts)); }

        /// <summary>Writes the handles of the entities in view to an array that grows if necessary, and returns their number.</summary>
        public int Entities(ref ulong[] handles)
        {
            int count;
            using (var to = new Pin(handles)) count = Entities(to.Address, handles == null ? 0 : handles.Length);
            if (handles == null || count > handles.Length)
            {
                handles = new ulong[count + count / 2];
                using (var to = new Pin(handles)) count = Entities(to.Address, handles.Length);
            }
            return count;
        }

        /// <summary>Writes up to capacity handles, and returns how many entities are in view.</summary>
        public int Entities(IntPtr handles, int capacity)
        {
            UIntPtr count;
            Check(Native.wd_entities(id, handles, (UIntPtr)capacity, out count));
            return (int)count;
        }

        /// <summary>Describes an entity. It returns false unless the entity is in view.</summary>
        public bool TryGet(ulong handle, out Entity entity)
        {
            entity = new Entity { Size = (uint)Marshal.SizeOf(typeof(Entity)) };
            var result = (Result)Native.wd_get_entity(id, handle, ref entity);
            Check(result);
            return result == Result.Ok;
        }

        /// <summary>The number of an item of the program's schema, which the generated classes have as constants.</summary>
        public uint Find(Section section, string name) { return Number(Native.wd_find(id, (int)section, Utf8(name)), name); }

        public uint FindField(uint component, string name) { return Number(Native.wd_find_field(id, component, Utf8(name)), name); }

        /// <summary>Reads one field of n entities into an array, with as many elements for each as the field has: Position has 3.
        /// verdicts may be null. What cannot be read is 0.</summary>
        public void Read(uint component, uint field, When when, ulong[] handles, int n, float[] to, Verdict[] verdicts)
        {
            Hold(handles, n, to, CountOf(component, field), verdicts);
            using (var from = new Pin(handles)) using (var values = new Pin(to)) using (var v = new Pin(verdicts))
                ReadF32(component, field, when, from.Address, n, values.Address, v.Address);
        }

        public void Read(uint component, uint field, When when, ulong[] handles, int n, double[] to, Verdict[] verdicts)
        {
            Hold(handles, n, to, CountOf(component, field), verdicts);
            using (var from = new Pin(handles)) using (var values = new Pin(to)) using (var v = new Pin(verdicts))
                ReadF64(component, field, when, from.Address, n, values.Address, v.Address);
        }

        public void Read(uint component, uint field, When when, ulong[] handles, int n, ulong[] to, Verdict[] verdicts)
        {
            Hold(handles, n, to, CountOf(component, field), verdicts);
            using (var from = new Pin(handles)) using (var values = new Pin(to)) using (var v = new Pin(verdicts))
                ReadU64(component, field, when, from.Address, n, values.Address, v.Address);
        }

        /// <summary>The elements that a field has for each entity.</summary>
        public int CountOf(uint component, uint field)
        {
            var f = new Native.Field { Size = (uint)Marshal.SizeOf(typeof(Native.Field)) };
            Check(Native.wd_get_field(id, component, field, ref f));
            return (int)f.Count;
        }

        /// <summary>Reads a component of n entities as structs that `schema --lang cs` has written.</summary>
        public void Read<T>(uint component, When when, ulong[] handles, int n, T[] to, Verdict[] verdicts) where T : struct
        {
            Hold(handles, n, to, 1, verdicts);
            using (var from = new Pin(handles)) using (var records = new Pin(to)) using (var v = new Pin(verdicts))
                ReadRecords(component, when, from.Address, n, records.Address, Record<T>.Size, v.Address);
        }

        /// <summary>Reads a component of one entity.</summary>
        public Verdict Read<T>(uint component, When when, ulong handle, out T to) where T : struct
        {
            oneHandle[0] = handle;
            Read(component, when, oneHandle, 1, Record<T>.One, oneVerdict);
            to = Record<T>.One[0];
            return oneVerdict[0];
        }

        readonly ulong[] oneHandle = new ulong[1];
        readonly Verdict[] oneVerdict = new Verdict[1];

        /// <summary>Read for memory of the caller, such as native arrays: room for n * CountOf elements. verdicts may be zero.</summary>
        public void ReadF32(uint component, uint field, When when, IntPtr handles, int n, IntPtr to, IntPtr verdicts)
        {
            Check(Native.wd_read_f32(id, component, field, (int)when, handles, (UIntPtr)n, to, verdicts));
        }

        public void ReadF64(uint component, uint field, When when, IntPtr handles, int n, IntPtr to, IntPtr verdicts)
        {
            Check(Native.wd_read_f64(id, component, field, (int)when, handles, (UIntPtr)n, to, verdicts));
        }

        public void ReadU64(uint component, uint field, When when, IntPtr handles, int n, IntPtr to, IntPtr verdicts)
        {
            Check(Native.wd_read_u64(id, component, field, (int)when, handles, (UIntPtr)n, to, verdicts));
        }

        public void ReadRecords(uint component, When when, IntPtr handles, int n, IntPtr to, int recordSize, IntPtr verdicts)
        {
            Check(Native.wd_read_records(id, component, (int)when, handles, (UIntPtr)n, to, (UIntPtr)recordSize, verdicts));
        }

        /// <summary>Asks the server to execute a command once, and returns the number that the event with its answer has.</summary>
        public uint Do<T>(uint command, ulong target, T args) where T : struct
        {
            uint number;
            Record<T>.One[0] = args;
            using (var from = new Pin(Record<T>.One)) Check(Native.wd_do(id, command, target, from.Address, (UIntPtr)Record<T>.Size, out number));
            return number;
        }

        /// <summary>Do for a raw command: args is one value in msgpack, or empty. It asks for an entity for each of these handles of
        /// TakeProvisional, which were taken one right after the other; the game reads them from args.</summary>
        public uint DoRaw(uint command, ulong target, byte[] args, params ulong[] provisional)
        {
            uint number;
            using (var from = new Pin(args))
                Check(Native.wd_do_raw(id, command, target, from.Address, (UIntPtr)args.Length, provisional, (UIntPtr)provisional.Length, out number));
            return number;
        }

        /// <summary>Sets what the player holds down from now on, and returns the tick that Status.AppliedInput reaches once the server
        /// has applied it; 0 while the client is not connected.</summary>
        public uint SetInput<T>(T input) where T : struct
        {
            Record<T>.One[0] = input;
            using (var from = new Pin(Record<T>.One)) return SetInput(from.Address, Record<T>.Size);
        }

        /// <summary>SetInput for a schema whose input is raw: at most 64 bytes.</summary>
        public uint SetRawInput(byte[] input)
        {
            using (var from = new Pin(input)) return SetInput(from.Address, input.Length);
        }

        uint SetInput(IntPtr input, int size)
        {
            uint tick;
            int result = Native.wd_set_input(id, input, (UIntPtr)size, out tick);
            RethrowStep();
            if ((Result)result != Result.NotJoined) Check(result);
            return tick;
        }

        /// <summary>Predicts the controlled entity from the inputs of SetInput, without waiting for the server: once, at any time. TState
        /// is a sequential struct of the generated structs of these components, in their order, then of the game's own numbers, which begin
        /// at 0. TInput is the generated Input. What the step function throws, Update or SetInput throws. snap: see worldd.h.</summary>
        public void Predict<TState, TInput>(uint[] components, StepFunction<TState, TInput> step, double snap = 0) where TState : struct where TInput : struct
        {
            if (step == null) throw new ArgumentNullException("step");
            var p = new Predictor<TState, TInput>(step);
            Result result;
            using (var of = new Pin(components))
            {
                var def = new Native.PredictionDef
                {
                    Size = (uint)Marshal.SizeOf(typeof(Native.PredictionDef)), ComponentCount = (uint)components.Length, Components = of.Address,
                    StateSize = (UIntPtr)Predictor<TState, TInput>.StateSize, Step = Marshal.GetFunctionPointerForDelegate(Predictor.Entry), User = p.User, Snap = snap
                };
                result = (Result)Native.wd_predict(id, ref def);
            }
            if (result != Result.Ok) p.Dispose();
            Check(result);
            predictor = p;
        }

        /// <summary>Reads the predicted state: the newest, or the one to draw after Render. It returns false while nothing is predicted.</summary>
        public bool ReadPredicted<TState>(When when, out TState state) where TState : struct
        {
            int result;
            using (var to = new Pin(Record<TState>.One)) result = Native.wd_read_predicted(id, (int)when, to.Address, (UIntPtr)Record<TState>.Size);
            Check(result);
            state = Record<TState>.One[0];
            return (Result)result == Result.Ok;
        }

        public PredictionStats Prediction
        {
            get
            {
                var s = new PredictionStats { Size = (uint)Marshal.SizeOf(typeof(PredictionStats)) };
                Check(Native.wd_get_prediction(id, ref s));
                return s;
            }
        }

        void RethrowStep()
        {
            if (predictor == null || predictor.Failure == null) return;
            Exception e = predictor.Failure;
            predictor.Failure = null;
            throw new InvalidOperationException("the step function threw: " + e.Message, e);
        }

        /// <summary>A handle for an entity that the next command or input will ask for.</summary>
        public ulong TakeProvisional()
        {
            ulong handle;
            Check(Native.wd_take_provisional(id, out handle));
            return handle;
        }

        /// <summary>The handle that a provisional one stands for; 0 before the answer and if it was rejected.</summary>
        public ulong Real(ulong handle)
        {
            ulong real;
            Check(Native.wd_real(id, handle, out real));
            return real;
        }

        void Check(int result) { Check((Result)result); }

        void Check(Result result)
        {
            if (result < 0) throw new WorlddException(result, GetText(TextOf.Error));
        }

        uint Number(int result, string name)
        {
            if (result < 0) throw new WorlddException((Result)result, "the program's schema has no \"" + name + "\"");
            return (uint)result;
        }

        // Hold checks that arrays hold what a call reads and writes, where the library sees only addresses.
        static void Hold(ulong[] handles, int n, Array to, int count, Verdict[] verdicts)
        {
            Hold(handles, n, to, count);
            if (verdicts != null && verdicts.Length < n) throw new ArgumentException("verdicts has " + verdicts.Length + " elements for " + n + " handles");
        }

        static void Hold(ulong[] handles, int n, Array to, int count)
        {
            if (n < 0 || count < 1 || n > handles.Length || n * (long)count > to.Length)
                throw new ArgumentException("n is " + n + ", for " + handles.Length + " handles and room for " + to.Length + " elements, " + count + " each");
        }

        static IntPtr Unmanaged(string text, List<IntPtr> all)
        {
            if (text == null) return IntPtr.Zero;
            byte[] bytes = Utf8(text);
            IntPtr to = Marshal.AllocHGlobal(bytes.Length);
            all.Add(to);
            Marshal.Copy(bytes, 0, to, bytes.Length);
            return to;
        }

        static byte[] Utf8(string text) { return Encoding.UTF8.GetBytes(text + "\0"); }

        static string Text(byte[] buffer) { return Encoding.UTF8.GetString(buffer, 0, Array.IndexOf(buffer, (byte)0)); }

        // A blittable struct, and room for one: calls for single records allocate nothing.
        static class Record<T> where T : struct
        {
            internal static readonly int Size = Marshal.SizeOf(typeof(T));
            [ThreadStatic] static T[] one;
            internal static T[] One { get { return one ?? (one = new T[1]); } }
        }

        // The address of an array while it is pinned; zero for null.
        struct Pin : IDisposable
        {
            GCHandle handle;

            internal Pin(Array array) { handle = array == null ? default(GCHandle) : GCHandle.Alloc(array, GCHandleType.Pinned); }

            internal IntPtr Address { get { return handle.IsAllocated ? handle.AddrOfPinnedObject() : IntPtr.Zero; } }

            public void Dispose() { if (handle.IsAllocated) handle.Free(); }
        }
    }
}
